"""Siyu Chen, Heejune Sheen, Tianhao Wang and Zhuoran Yang: Unveiling Induction Heads: Provable
Training Dynamics and Feature Learning in Transformers. NeurIPS 2024, arXiv 2409.10559.

Sequences come from random n-gram chains. A transformer of two attention layers learns, in three
stages, to vote with the tokens whose parents match those of the next one.

==========================================  =============================  =======================
Equation (section, as recalled)             plain form                     fast form
==========================================  =============================  =======================
n-gram chains, Dirichlet rows (data)        `task.draw_sequences`
softmax of w⁽ʰ⁾ over a head's lags (model)  `model.attention_to_lags`      `fast.descent._vectors`
v_h(l), of unit length (model)              `model.features`               `fast.descent._vectors`
K(l) = Σ_S p_S Π_h ⟨v_h(l), v_h(L+1)⟩       `model.kernel`                 `fast.kernel_of_pairs`
softmax(a K(l)), the vote (model)           `model.predict`                `fast.predict`
cross-entropy, gradient descent (training)  `model.trained_loss`           `fast.descent`
p_S = c_S² / Σ c² (stage I)                 `measures.subset_shares`
modified χ² information I(S) (stage I)      `modified_information`, in `information`
generalised induction head (the limit)      `constructed.InductionHead`
==========================================  =============================  =======================

`fast.windows` opens with an example that can be followed by hand; `fast.together` is the fast form
for a card, and `forms` lets an experiment run in either form. `experiments` has what is trained and
measured, `settings` its settings, `measures` the measurements.
"""

from reproaudit.papers.chen2024.experiments import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
