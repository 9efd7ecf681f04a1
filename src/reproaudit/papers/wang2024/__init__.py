"""Wang et al. (2024): transformers learn sparse token selection, fully-connected nets do not."""

from reproaudit.papers.wang2024.experiments import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
