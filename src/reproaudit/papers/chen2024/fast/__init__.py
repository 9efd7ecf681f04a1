"""The model on counted windows, which is what is trained.

`windows` counts the windows of sequences, with a worked example; `descent` computes loss, gradient
and predictions on them. A test holds both against the plain form in
`reproaudit.papers.chen2024.model`.
"""

from reproaudit.papers.chen2024.fast.descent import (
    ParameterName,
    Parameters,
    descend,
    kernel_of_pairs,
    predict,
    vote,
)
from reproaudit.papers.chen2024.fast.windows import Windows, count_windows

__all__ = [
    "ParameterName",
    "Parameters",
    "Windows",
    "count_windows",
    "descend",
    "kernel_of_pairs",
    "predict",
    "vote",
]
