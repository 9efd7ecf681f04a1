"""Runs the cells that have no record yet, and resumes those that were cut off.

`cells` plans (every fault of an audit is found before anything runs), hands jobs to one of the
`executors`, where `worker` computes them by what `modules` imports, and alone writes their records,
each at once. `events` are what a run reports. A cell that fails stops no other and is tried again
by the next run; a diverged cell is finished.
"""
