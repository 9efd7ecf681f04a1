"""Everything that the module of a paper may import, in one stable place.

An experiment is an `Experiment`: typed settings and a function from settings and a `Session` to
`Measurements`. `train` is the loop that can be cut off and resumed, `generator` and
`torch_generator` give random numbers that depend on seed, purpose and index alone, `ablated_data`
gives a control its data by the name of what they lack, `pictures` reads MNIST or its stand-in,
`measure_movement` says how far training moved, and `observation_steps`, `join_phases`, `compiled`
and `one_thread` are shared by several papers.

The stub in this folder lists the names. Each is imported with its first use, so that what only
lists or checks papers starts without torch and Numba.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
