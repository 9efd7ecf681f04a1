"""reproaudit: reproducibility audits of machine-learning papers that people run.

An audit (YAML) says what a paper claims, what it states and what it leaves out; an experiment
(Python) measures without seeing the claims; every run answers every claim; a scorecard shows what
holds, how sure that makes us, and why not surer.

The stub in this folder lists the names of the Python API (docs/api.md). Each is imported with its
first use, so that `import reproaudit` costs nothing. An import here, which the contracts could see,
would make the whole API a part of what every paper computes with.
"""

from lazy_loader import attach_stub

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
