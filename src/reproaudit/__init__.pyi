"""What type checkers know of the package; the names are imported lazily at run time."""

from reproaudit.api import *  # noqa: F403  every name of its __all__

__version__: str
