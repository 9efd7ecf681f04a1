"""Zixuan Wang, Stanley Wei, Daniel Hsu and Jason D. Lee: Transformers Provably Learn Sparse Token
Selection While Fully-Connected Nets Cannot. ICML 2024, arXiv 2406.06893.

The task is the mean of the tokens at q given positions. One softmax attention layer learns it when
the query is the sum of those positions' codes and the codes are nearly orthogonal.

============================================  =============================  ======================
Equation (as recalled; no sections known)     plain form                     fast form
============================================  =============================  ======================
(1/q) Σ_{i∈y} x_i, the target                 `model.targets`                `fast.targets_of`
z_i = (x_i; e_i)                              `model.embed`                  never built
z_query = (0; Σ_{i∈y} e_i)                    `model.query`                  never built
softmax(Zᵀ W_KQ z_query)                      `model.attention`              `fast.losses`
W_V Z softmax(Zᵀ W_KQ z_query)                `model.forward`                `fast.losses`
c · mean ‖output − target‖²                   `model.selection_loss`         `fast.gradient`
its gradient                                  `plain.gradient`               `fast.gradient`
online SGD, stochastic codes                  `training.Model`               the same
W_KQ → αI, W_V → vI, the best α and v         `constructed`                  the same
fully-connected net                           `plain.net_outputs`            the same
============================================  =============================  ======================

`settings` names what the audit sets, `task` and `sampling` draw tokens, subsets and codes,
`training` has what is trained, `measures` the measurements, `experiments` what is run. On a card
the plain form runs.
"""

from reproaudit.papers.wang2024.experiments import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
