"""Transformers provably learn two-mixture of linear classification (Yang et al., ICLR 2025).

A two-headed transformer with ReLU neurons learns to pick, by attention, the one signal among
several that its class identifier points to. `task` enumerates the samples, `plain` is the model
from the paper's equation, `dynamics` trains the same model in inner products, `constructions`
builds solutions by hand and `images` brings the pictures of the MNIST variant.
"""

from reproaudit.papers.yang2025.experiments import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
