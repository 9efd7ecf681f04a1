"""The settings of the experiments; the audit says what the values mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reproaudit.lab import Collection, Split
from reproaudit.papers.yang2025.products import Rates
from reproaudit.papers.yang2025.task import Labels, Scaling


@dataclass(frozen=True)
class Settings:
    """The settings that every experiment has."""

    neurons: int
    output: Literal["mean", "sum"]
    neuron_rate_of: Literal["mean_field", "parameter", "parameter_longer"]
    attention_rate: float
    neuron_rate: float
    bias: float
    bias_trained: bool
    key_width: int
    attention_scale: float
    neuron_scale: float
    training_samples: int
    labels: Labels
    attention: Literal["trained", "frozen"]
    attention_start: Literal["random", "constructed"]
    weights: Literal["trained", "constructed"]

    @property
    def output_scale(self) -> float:
        """The factor before the mean over a head's neurons."""
        return float(self.neurons) if self.output == "sum" else 1.0

    @property
    def output_weight(self) -> float:
        """The weight of each neuron in a head's output: 1 in a sum, 1/neurons in a mean."""
        return self.output_scale / self.neurons

    @property
    def neuron_bias(self) -> float:
        """The bias of a neuron: in a sum, shared out, so that a head's whole bias stays small."""
        return self.bias / self.output_scale

    @property
    def rates(self) -> Rates:
        """Learning rates of simultaneous training, as the rows of `products` see them."""
        neurons = self.neuron_rate
        if self.neuron_rate_of != "mean_field":
            neurons *= self.output_scale / self.neurons
        attention = 0.0 if self.attention == "frozen" else self.attention_rate
        return Rates(attention, neurons, neurons if self.bias_trained else 0.0)

    @property
    def stretch(self) -> int:
        """The factor by which every phase is longer, so that slower neurons come as far."""
        longer = self.neuron_rate_of == "parameter_longer" and self.output == "mean"
        return self.neurons if longer else 1


@dataclass(frozen=True)
class Simultaneous(Settings):
    """All weights at once; `classes` names the K classes."""

    classes: tuple[int, ...]
    steps: int

    @property
    def trained_steps(self) -> int:
        """The steps of simultaneous training."""
        return self.steps * self.stretch


@dataclass(frozen=True)
class Staged(Simultaneous):
    """Algorithm 1, beside simultaneous training of the same seed over `steps`."""

    stage_steps: tuple[int, ...]

    @property
    def trained_stages(self) -> tuple[int, ...]:
        """The steps of each stage."""
        return tuple(steps * self.stretch for steps in self.stage_steps)


@dataclass(frozen=True)
class Pictured(Simultaneous):
    """Simultaneous training with pictures of the digits `classes` as signals."""

    images: Collection
    pictures: int
    split: Split
    centred: bool
    scaling: Scaling


@dataclass(frozen=True)
class Constructed(Settings):
    """Built transformers for each number of classes."""

    class_counts: tuple[int, ...]
    gates: Literal["present", "absent"]
