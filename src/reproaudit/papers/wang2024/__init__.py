"""Wang, Wei, Hsu, Lee: Transformers Provably Learn Sparse Token Selection While Fully-Connected
Nets Cannot. ICML 2024, arXiv 2406.06893.

The task is the mean of the tokens at q given positions. One softmax attention layer learns it when
the query is the sum of those positions' codes and the codes are nearly orthogonal.

Read on in this order:

* `model`: the layer token by token, as the paper writes it. The reference.
* `kernel`: the same loss and gradient without the tokens' matrix, compiled, and the training loop.
* `sampling`: tokens, subsets and codes.
* `reachable`: the best that identity blocks can do, computed without training.
* `baseline`: the fully-connected net.
* `settings`, `experiments`: what is trained and measured.
"""

from reproaudit.papers.wang2024.experiments import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
