"""Yang, Wang, Lee, Liang: Transformers provably learn two-mixture of linear classification via
gradient flow. ICLR 2025, OpenReview AuAj4vRPkv.

A transformer with two heads and ReLU neurons learns to pick, by attention, the one signal among
several that a class identifier points to. No code was released.

====================================  ============================  =========================
the paper                             plain form                    fast form
====================================  ============================  =========================
K-mixture, Definition 2.1 (recalled)  `task.mixture`                every sample enumerated
output f(X), as reviews describe it   `model.outputs`               `fast.outputs`
population logistic loss              `model.logistic_loss`       `measures.population_loss`
gradient by all weights               autograd                      `fast._gradients`
gradient descent on all weights       `model.descend`               `fast.descend`
start: w = 0, W_K, W_Q ~ N(0, ω²/m)   `training.initial_weights`    `products.from_weights`
Algorithm 1, three stages             `experiments.measure_staged`  the same
a transformer that solves any K       `constructed.with_attention`  judged by `model.outputs`
====================================  ============================  =========================

The fast form keeps products of the weights with the vocabulary; its docstring derives the update,
and tests hold it against the plain form. `training` trains a seed's model in either form,
`products` has what both forms are measured from, `measures` turns it into what the audit declares,
and `settings` has the settings.
"""

from reproaudit.papers.yang2025.experiments import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
