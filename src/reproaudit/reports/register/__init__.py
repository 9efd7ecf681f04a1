"""The register: every paper of a tier on one page, and the same as data.

`model` is the contract of `register.json`, `entries` makes a paper's entry out of its scorecards,
`page`, `plot`, `badges` and `table` render entries, and `writing` keeps the files up to date.
"""
