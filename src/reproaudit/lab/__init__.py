"""Everything that the module of a paper may import, in one stable place.

An experiment is an `Experiment`: typed settings and a function from settings and a `Session` to
`Measurements`. `train` is the loop that can be cut off and resumed, `generator` and
`torch_generator` give random numbers that depend on seed, purpose and index alone, `ablated_data`
gives a control its data by the name of what they lack, `measure_movement` says how far training
moved, and `observation_steps`, `join_phases`, `compiled` and `one_thread` are shared by several
papers.

A name is imported with its first use, so that what only lists or checks papers starts without
torch and Numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from reproaudit.errors import did_you_mean

if TYPE_CHECKING:
    from reproaudit.cell import RunForm
    from reproaudit.lab.ablations import Ablation, ablated_data, another_seed
    from reproaudit.lab.compiling import compiled, one_thread
    from reproaudit.lab.experiment import Experiment, Measure, Session
    from reproaudit.lab.movement import measure_movement
    from reproaudit.lab.parts import DATA_VARIABLE, Array, join_phases, observation_steps
    from reproaudit.lab.seeds import generator, torch_generator
    from reproaudit.lab.training import Observation, Stateful, train
    from reproaudit.records import Measurements, Series

_ORIGINS = {
    "Ablation": "reproaudit.lab.ablations",
    "Array": "reproaudit.lab.parts",
    "DATA_VARIABLE": "reproaudit.lab.parts",
    "Experiment": "reproaudit.lab.experiment",
    "RunForm": "reproaudit.cell",
    "Measure": "reproaudit.lab.experiment",
    "Measurements": "reproaudit.records",
    "Observation": "reproaudit.lab.training",
    "Series": "reproaudit.records",
    "Session": "reproaudit.lab.experiment",
    "Stateful": "reproaudit.lab.training",
    "ablated_data": "reproaudit.lab.ablations",
    "another_seed": "reproaudit.lab.ablations",
    "compiled": "reproaudit.lab.compiling",
    "generator": "reproaudit.lab.seeds",
    "join_phases": "reproaudit.lab.parts",
    "measure_movement": "reproaudit.lab.movement",
    "observation_steps": "reproaudit.lab.parts",
    "one_thread": "reproaudit.lab.compiling",
    "torch_generator": "reproaudit.lab.seeds",
    "train": "reproaudit.lab.training",
}

__all__ = [
    "DATA_VARIABLE",
    "Ablation",
    "Array",
    "Experiment",
    "Measure",
    "Measurements",
    "Observation",
    "RunForm",
    "Series",
    "Session",
    "Stateful",
    "ablated_data",
    "another_seed",
    "compiled",
    "generator",
    "join_phases",
    "measure_movement",
    "observation_steps",
    "one_thread",
    "torch_generator",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _ORIGINS:
        raise AttributeError(
            f"reproaudit.lab has no '{name}'. {did_you_mean(name, _ORIGINS)}".rstrip()
        )
    value = getattr(import_module(_ORIGINS[name]), name)
    globals()[name] = value
    return value
