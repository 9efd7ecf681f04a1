"""What an audit declares once: shared measurements and controls mean the same as written out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from reproaudit.audit.loading import load_audit, read_text
from reproaudit.audit.model import TIERS, Audit, Control, NoPositiveControl
from reproaudit.audit.plan import claim_batches, plan
from test_loading import TEXT, TODAY, dump

SHIPPED = sorted((Path(__file__).parents[1] / "audits").glob("*.yaml"))


def read(tree: Any) -> tuple[Audit | None, list[str]]:
    audit, faults = read_text(dump(tree), "toy.yaml", today=TODAY)
    return audit, [f"{fault.rule} {fault.path}" for fault in faults]


def toy() -> Any:
    return yaml.safe_load(TEXT)


def written_out(audit: Audit) -> dict[str, Any]:
    """An audit as data in which every experiment and claim says everything itself."""
    data = audit.model_dump(mode="json", exclude={"measurements", "controls"}, exclude_none=True)
    for name, experiment in data["experiments"].items():
        experiment.pop("measures", None)
        declared = audit.measurements_of(name)
        experiment["measurements"] = {
            n: one.model_dump(mode="json", exclude_none=True) for n, one in declared.items()
        }
    for claim, one in zip(data["claims"], audit.claims, strict=True):
        claim["controls"] = [  # the name of a shared one is its key
            {**c.model_dump(mode="json"), "name": entry if isinstance(entry, str) else entry.name}
            for entry, c in zip(one.controls, audit.controls_of(one), strict=True)
        ]
        claim["positive_control"] = audit.positive_control_of(one).model_dump(
            mode="json", exclude={"name"}
        )
    return data


def assert_same_meaning(one: Audit, other: Audit) -> None:
    assert written_out(one) == written_out(other)
    one, other = (audit.with_seeds({"paper": (5, 6, 7, 8, 9)}) for audit in (one, other))
    for tier in TIERS:
        assert plan(one, tier) == plan(other, tier)
        for mine, its in zip(one.claims, other.claims, strict=True):
            assert list(claim_batches(one, mine, tier)) == list(claim_batches(other, its, tier))
            assert one.rule_hash(mine, tier) == other.rule_hash(its, tier)


def shared_toy() -> Any:
    """The toy with its norm, a control and a positive control declared once."""
    tree = toy()
    reading = tree["experiments"]["reading"]
    tree["measurements"] = reading.pop("measurements")
    tree["experiments"]["training"]["measures"] = []
    first, second = tree["claims"][:2]
    shuffled = dict(first["controls"][0])
    built = dict(second["positive_control"])
    del shuffled["experiment"], built["experiment"]
    tree["controls"] = {"shuffled": shuffled, "built": built}
    first["controls"][0] = "shuffled"
    second["positive_control"] = "built"
    return tree


def test_what_is_shared_means_the_same_as_written_out() -> None:
    audit, faults = read(shared_toy())
    assert faults == []
    assert audit is not None
    plain, _ = read(toy())
    assert plain is not None
    assert_same_meaning(audit, plain)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_audits_mean_the_same_when_written_out(path: Path) -> None:
    audit = load_audit(path)
    text = dump(written_out(audit))
    again, faults = read_text(text, path.name)
    assert again is not None, faults
    assert again.measurements == again.controls == {}
    assert_same_meaning(audit, again)


def test_every_experiment_makes_the_shared_measurements_unless_it_lists_some() -> None:
    tree = toy()
    training, reading = tree["experiments"]["training"], tree["experiments"]["reading"]
    tree["measurements"] = {n: training["measurements"].pop(n) for n in ("accuracy", "errors")}
    audit, faults = read(tree)
    assert faults == []
    assert audit is not None
    assert list(audit.measurements_of("reading")) == ["accuracy", "errors", "norm"]
    assert audit.declaration("reading", "errors") is audit.measurements["errors"]
    reading["measures"] = ["accuracy"]
    audit, faults = read(tree)
    assert faults == []
    assert audit is not None
    assert list(audit.measurements_of("reading")) == ["accuracy", "norm"]
    assert audit.declaration("reading", "errors") is None
    assert audit.declaration("nowhere", "errors") is None


def test_an_experiments_own_measurement_replaces_the_shared_one() -> None:
    tree = toy()
    own = dict(tree["experiments"]["training"]["measurements"]["accuracy"])
    tree["measurements"] = {"accuracy": {**own, "meaning": "Another."}}
    audit, faults = read(tree)
    assert faults == []
    assert audit is not None
    assert audit.declaration("training", "accuracy").meaning == own["meaning"]  # type: ignore[union-attr]
    assert audit.measurements_of("reading")["accuracy"].meaning == "Another."


def test_a_control_without_experiment_runs_the_claims_own() -> None:
    tree = toy()
    for claim in tree["claims"]:
        for control in claim["controls"]:
            del control["experiment"]
    audit, faults = read(tree)
    assert faults == []
    assert audit is not None
    assert {c.experiment for one in audit.claims for c in audit.controls_of(one)} == {"training"}


def test_a_fault_of_something_shared_is_told_once_where_it_is_declared() -> None:
    tree = shared_toy()
    tree["measurements"]["norm"]["axes"] = [{"name": "layer", "setting": "layer"}]
    tree["measurements"]["norm"]["kind"] = "series"
    tree["controls"]["shuffled"]["settings"] = {"label": "shuffled"}
    tree["claims"][1]["controls"][0] = "shuffled"
    _, faults = read(tree)
    assert faults == [
        "RA122 measurements.norm.axes[0].setting",
        "RA110 controls.shuffled.settings.label",
    ]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda t: t["claims"][0]["controls"].append("shufled"), ["RA118 claims[0].controls[2]"]),
        (lambda t: t["claims"][0]["controls"].append("shuffled"), ["RA118 claims[0].controls[2]"]),
        (lambda t: t["claims"][0].update(positive_control="bilt"),
         ["RA118 claims[0].positive_control"]),
        (lambda t: t["experiments"]["training"].update(measures=["norm", "norm"]),
         ["RA130 experiments.training.measures[1]"]),
        (lambda t: t["experiments"]["training"].update(measures=["nrm"]),
         ["RA130 experiments.training.measures[0]"]),
        (lambda t: t["experiments"]["reading"].update(measures=[]),
         ["RA131 experiments.reading", "RA119 measurements.norm"]),
        (lambda t: t["claims"][0]["controls"].__setitem__(1, 5), ["RA052 claims[0].controls[1]"]),
        (lambda t: t["controls"].update(built={"settings": {"steps": 1}}),
         ["RA051 controls.built"]),
        (lambda t: t["controls"]["shuffled"].update(experiment="trainin"),
         ["RA101 controls.shuffled.experiment"]),
    ],
)  # fmt: skip
def test_faults_of_names(edit: Any, expected: list[str]) -> None:
    tree = shared_toy()
    edit(tree)
    assert read(tree)[1] == expected


def test_an_open_positive_control_stays_open() -> None:
    audit, _ = read(toy())
    assert audit is not None
    assert isinstance(audit.positive_control_of(audit.claims[0]), NoPositiveControl)
    built = audit.positive_control_of(audit.claims[1])
    assert isinstance(built, Control)
    assert built.experiment == "training"
