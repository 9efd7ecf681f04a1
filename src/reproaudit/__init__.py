"""reproaudit: reproducibility audits of machine-learning papers that people run.

An audit (YAML) says what a paper claims, what it states and what it leaves out; an experiment
(Python) measures without seeing the claims; checks judge the measurements; a scorecard shows what
holds, how strongly, and what it hangs on.
"""

__version__ = "0.1.0"
