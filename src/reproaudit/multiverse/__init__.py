"""The multiverse: the same claims under every way to fill in what the paper leaves open.

The ledger lists the settings that a paper leaves open, each with its alternatives. A *completion*
gives each of them a value. `completions` plans completions and the batches that they need, `cost`
predicts the time of these batches and orders them, `effects` decides whether a difference from the
default matters for a claim, and `read` judges the records of completions into the `model` that is
shown.

A completion varies the claim's own experiment. Of a single alternative that comes out met, the
claim's ablations are run as well (`ablations`), since it counts as met only if they miss under it.
The multiverse speaks of decisions; `ledger` hands them to the judge, for the verdict.

Nothing here runs anything, nor imports torch.
"""
