"""Siyu Chen, Heejune Sheen, Tianhao Wang and Zhuoran Yang: Unveiling Induction Heads: Provable
Training Dynamics and Feature Learning in Transformers. NeurIPS 2024, arXiv 2409.10559.

Sequences come from random n-gram chains. A transformer of two attention layers learns, in three
stages, to vote with the tokens whose parents match those of the next one.

==========================================  ===========================  ========================
Equation (section, as recalled)             plain form                   fast form
==========================================  ===========================  ========================
n-gram chains, Dirichlet rows (data)        `task.draw_sequences`        `fast.Windows.of`
softmax of w⁽ʰ⁾ over a head's lags (model)  `model.attention_to_lags`    `fast.Windows._features`
v_h(l), of unit length (model)              `model.features`             `fast.Windows._features`
K(l) = Σ_S p_S Π_h ⟨v_h(l), v_h(L+1)⟩       `model.kernel`               `fast.Windows.kernel`
p_S = c_S² / Σ c² (stage I)                 `model.kernel`               `model.subset_shares`
softmax(a K(l)), the vote (model)           `model.predict`              `fast.Windows.predict`
cross-entropy (training)                    `model.trained_loss`         `fast._loss_and_slope`
cross-entropy of given votes (baselines)    `task.cross_entropy`         the same
its gradient (training)                     `model.Positions`            `fast.Windows`
gradient descent (training)                 `experiments.take_steps`     the same
modified χ² information I(S) (stage I)      `information`                the same
first gradient on c_S (stage I, derived)    `measures.first_gradient`    the same
generalised induction head (the limit)      `constructed.InductionHead`  the same
==========================================  ===========================  ========================

`fast` opens with an example that can be followed by hand; its gradient is written out, that of the
plain form is autograd's. `experiments` has what is trained and measured, `settings` its settings,
`measures` the measurements.
"""

from reproaudit.papers.chen2024.experiments import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
