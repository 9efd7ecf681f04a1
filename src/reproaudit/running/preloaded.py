"""Imports what every worker needs and is slow to import, once, in the process that forks them.

Nobody else imports this: what stands at its end is left out of every later search for garbage. The
search of a worker would write to each object, and so copy the memory that the workers share.
"""

from __future__ import annotations

import atexit
import gc
from contextlib import suppress
from importlib import import_module

from reproaudit.running.jobs import describe_environment

for name in ("reproaudit.lab.training", "numba"):
    with suppress(Exception):  # whoever computes with it says what is wrong with it
        import_module(name)
describe_environment("cpu", threads=1)  # the versions of packages are remembered
gc.collect()
gc.freeze()
atexit.register(gc.unfreeze)  # libraries take what is left at the end for a leak
