"""Authors' repositories as experiments: a command, run in a fresh copy of a pinned source.

The file ``<slug>.run.yaml`` beside an audit says what is run: `run_file` has its models, `reading`
holds it against the audit. A cell is computed in four steps: `sources` makes a fresh working copy,
`environments` a Python environment or the call of a container, `processes` runs the command under a
`guard` that ends all of it with its parent, and `measuring` turns the files that it wrote into the
declared measurements. `experiments` offers all this as a paper's module would.

Nothing here runs a command but a cell that the runner computes, after consent.
"""
