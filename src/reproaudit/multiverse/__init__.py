"""The multiverse: the same claims under every way to fill in what the paper leaves open.

The ledger lists the settings that a paper leaves open, each with its alternatives. A *completion*
gives each of them a value. `completions` plans completions and the batches that they need, `cost`
predicts the time of these batches and orders them, `effects` decides whether a difference from the
default matters for a claim, `read` judges the records of completions into the `model` that is
shown, and `smallest_set` finds the smallest set of settings behind a changed decision.

Only the claim's own experiment is varied, not its controls: they test the check, and the check is
the same in every completion. So the multiverse speaks of decisions, not of verdicts.

Nothing here runs anything, nor imports torch.
"""
