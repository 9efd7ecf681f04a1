"""The scorecard: documentation beside outcome, as one self-contained model.

`model` is the contract of `scorecard.json` (see docs/verdicts.md), which holds everything that the
rendered pages show, figures included, so that a page can be rendered again without records. `build`
makes it from an audit and records, `from_store` finds the records, `figures` reduces them to the
data of pictures, and `verdicts` is the table of what each verdict means. There is no single number
for a paper: the claims, their weights and the coverage are the answer.
"""
