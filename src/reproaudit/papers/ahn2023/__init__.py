"""Ahn, Cheng, Daneshmand, Sra: Transformers learn to implement preconditioned gradient descent for
in-context learning. NeurIPS 2023, arXiv 2306.00297.

A linear transformer reads n pairs (x_i, w·x_i) and a query, and predicts w·x_{n+1}. Trained, its
layers turn into steps of gradient descent, preconditioned by the inverse input covariance.

Read on in this order:

* `model`: the transformer token by token, as the paper writes it. The reference.
* `recursion`: the same loss from one d×d matrix per prompt (derived), for every seed at once.
* `kernel`: the recursion compiled for the CPU, with its gradient and Adam.
* `sampling`: covariances and prompts.
* `constructed`: closed forms, baselines, and the weights that the theorems describe.
* `learners`: training with the kernel, or with the recursion for all seeds together.
* `experiments`: what is trained and measured.
"""

from reproaudit.papers.ahn2023.experiments import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
