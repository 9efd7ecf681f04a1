"""Authors' repositories as experiments: a command, run in a fresh copy of a pinned source.

The file ``<slug>.run.yaml`` beside an audit says what is run: `run_file` reads it. A cell is
computed in three steps: `environments` makes a fresh copy of the source and what it runs in,
`processes` runs the command and ends all that it started, and `experiments` turns the files that it
wrote into the declared measurements, and offers all this as a paper's module would.

Nothing here runs a command but a cell that the runner computes, after consent.
"""
