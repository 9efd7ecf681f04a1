"""Chen, Sheen, Wang and Yang, Unveiling Induction Heads (arXiv 2409.10559).

`data` draws sequences and computes what their chains say about parents; `model` is the network
position by position, as the paper writes it; `windows` computes the same on counted windows, which
is what `experiments` trains.
"""

from collections.abc import Mapping

from reproaudit.lab.experiment import Experiment
from reproaudit.papers.chen2024.experiments import (
    STAGES,
    Simultaneous,
    Staged,
    measure_simultaneous,
    measure_staged,
)

EXPERIMENTS: Mapping[str, Experiment] = {
    "staged": Experiment(
        settings=Staged,
        measure=measure_staged,
        phases=lambda s: {stage: getattr(s, f"{stage}_epochs") for stage, _ in STAGES},
    ),
    "simultaneous": Experiment(
        settings=Simultaneous,
        measure=measure_simultaneous,
        phases=lambda s: {"together": s.epochs},
    ),
}
