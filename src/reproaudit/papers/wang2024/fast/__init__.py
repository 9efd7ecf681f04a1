"""The attention layer without the tokens' matrix, compiled.

`layer` computes loss, gradient and training; `structures` is what it takes. A test holds it against
the plain form in `reproaudit.papers.wang2024.model`.
"""

from reproaudit.papers.wang2024.fast.layer import gradient, losses, train_steps
from reproaudit.papers.wang2024.fast.structures import Sgd, Weights

__all__ = ["Sgd", "Weights", "gradient", "losses", "train_steps"]
