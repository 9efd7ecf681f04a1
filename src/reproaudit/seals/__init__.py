"""Seals: what an audit decided before a run, in a chain of hashes that only grows.

`rule` says what decides and computes, `entries` and `chain` keep it in `audits/seals/<slug>.jsonl`,
`history` holds that file against git, `confirming` derives seeds and errors of a confirmation from
it, `standing` tells per claim what the chain says, and `reconstruct` enters what git knows of the
time before the first seal, with the changes of code that `past_code` finds, in the order that
`commits` gives. See docs/seals.md.
"""
