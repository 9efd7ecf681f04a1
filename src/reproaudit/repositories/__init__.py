"""Authors' repositories as experiments: a command, run in a fresh copy of a pinned source.

The file ``<slug>.run.yaml`` beside an audit says what is run: `run_file` has its models,
`arguments` the grammar of its placeholders, and `reading` holds it against the audit. A cell is
computed in four steps: `sources` makes a fresh working copy, `environments` a Python environment or
the call of a container, `processes` runs the command under a `guard` that ends all of it with its
parent, and `measuring` turns the files that it wrote into the declared measurements, by the readers
and expressions of `reproaudit.elsewhere`. `experiments` offers all this as the experiments that a
paper's module would define, so that the runner makes no difference.

Nothing here runs a command but a cell that the runner computes, after consent.
"""
