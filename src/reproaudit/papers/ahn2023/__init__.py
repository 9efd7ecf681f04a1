"""Ahn, Cheng, Daneshmand, Sra: Transformers learn to implement preconditioned gradient descent for
in-context learning. NeurIPS 2023, arXiv 2306.00297.

A linear transformer reads n pairs (x_i, w·x_i) and a query, and predicts w·x_{n+1}. Trained, its
layers turn into steps of gradient descent, preconditioned by the inverse input covariance Σ⁻¹.

=====================================  ===============================  ===========================
The paper                              Plain form                       Fast form
=====================================  ===============================  ===========================
Prompt Z_0 (section 2)                 `model.embed`                    `fast.Minibatch`
P_l and Q_l of the theorems            `model.layer_matrices`           their blocks A_l and B_l
Attention P Z M (Zᵀ Q Z)               `model.attention`                never formed
Z_{l+1} = Z_l + (1/n) P_l Z_l M (…)    `model.forward`                  `fast`, whose text derives
                                                                        b_{l+1} and C_{l+1}
Prediction −[Z_L]_{d+1,n+1}            `model.predict`                  error −b_L·x_{n+1}
In-context loss                        `model.in_context_loss`          `fast.loss_and_gradient`
x ~ N(0, Σ), w ~ N(0, Σ⁻¹)             `task.draw_prompts`              `fast.draw_minibatch`
Gradient of the loss                   `plain.gradients`                `fast.gradients`
Adam, clipping, halved learning rate   `plain.Learner`                  the same
Dist(M, I) (figures)                   `task.distance_to_identity`      the same
One-layer optimum (Theorem 1)          `constructed.printed_optimum`    the same
One-layer population loss (derived)    `constructed.one_layer_loss`     the same
A_l = −a_l Σ⁻¹, B_l = 0 (Theorem 3)    `constructed.best_steps`         the same
A_l = −a_l Σ⁻¹, B_l = β_l I            `constructed.                    the same
(Theorem 4)                            best_corrected_descent`
Gradient descent                       `constructed.fair_losses`        the same
Gradient on the theorems' family        `theorems.off_family`            on either form's gradients
Lemmas 1 and 4                         `theorems.lemmas`                on either form's losses
=====================================  ===============================  ===========================

`plain.Learner` trains on the gradients of either form; on a card the plain form runs. `training`
trains a model for a seed, and `experiments` lists what is trained and returned. Sources of settings
stand in the audit.
"""

from reproaudit.papers.ahn2023.experiments import EXPERIMENTS

__all__ = ["EXPERIMENTS"]
