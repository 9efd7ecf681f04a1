"""Runs the cells that have no record yet, and resumes those that were cut off.

Every fault of an audit is found before anything runs. A cell that fails stops no other and is tried
again by the next run; a diverged cell is finished.
"""
