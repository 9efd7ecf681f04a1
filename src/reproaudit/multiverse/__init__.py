"""The multiverse: the same claims under every way to fill in what the paper leaves open.

The ledger lists the settings that a paper leaves open, each with what else it could be. A
*completion* gives each of them a value. `variations` plans completions and the batches that they
need, `costs` says how long those take and which come first, `contrasts` decides what a difference
from the default means for a claim, `reading` judges what has been measured into the `model` that
is shown, and `attribution` finds the smallest set of settings behind a changed decision.

What varies is the claim's own experiment. Its controls stay as they were: they test the check, and
the check is the same in every completion. So the multiverse speaks of decisions, not of verdicts.

Nothing here runs anything, nor imports torch.
"""
