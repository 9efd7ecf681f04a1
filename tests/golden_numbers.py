"""The golden numbers: what each run gives to each check, in a file that explains itself.

`python tests/golden_numbers.py` writes `tests/golden/numbers.json` anew from the audits, the
records under `reports/paper`, the tutorial and the toy; `test_golden_numbers.py` derives every
number again from the file's own rules and the records alone, so that audits may change.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import TypeAdapter

from reproaudit.audit.loading import load_audit
from reproaudit.audit.model import Audit, Claim, Control, TierName
from reproaudit.checks import Check, Condition
from reproaudit.checks.quantities import Sample
from reproaudit.declarations import Declaration, MeasurementMissingError
from reproaudit.records import Measurements, Record

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden" / "numbers.json"
ARCHIVED = ("ahn2023", "chen2024", "wang2024", "yang2025")
TUTORIAL, TOY = ROOT / "docs/tutorial/soudry2018.py", ROOT / "tests/toy/toy2020.py"
ALTERNATIVES = "multiverse-paper"
"""The tier of the records under alternatives of guessed settings."""
LINE = 700
"""The longest line of the file that holds several values."""
MATRIX = 4
"""A matrix of at least so many rows and columns is kept as its trace and its Frobenius norm."""
CHECK: TypeAdapter[Any] = TypeAdapter(Check)

ABOUT = (
    "What each single run gives to each check; written by tests/golden_numbers.py.",
    "experiments: the settings of an experiment's own arm at the paper tier, and its measurements.",
    "arms: an experiment under `differs` in place of its own settings; the seeds in order. tier: "
    "paper; multiverse-paper for alternatives of guessed settings; in-process for what tests run.",
    "checks: a row for each claim, check, part and condition. `rule` is the check with the part's "
    "coordinate filled in. A run says yes if its number lies in `accepted` (null: open end). "
    "`numbers`: by role (own, control NAME, constructed) and arm, in the order of the arm's seeds, "
    "ten digits, or six under alternatives; null where the arm does not measure it. `reads`: by "
    "role, measurements and those that replace them. `kindest`: where a condition has two "
    "readings, the most favourable one; `numbers` is the other.",
    "measured: by arm of the paper tier, the last value of each scalar, series and array for each "
    "seed, six digits, coordinates in C order; a matrix from 4 × 4 on as trace and Frobenius norm.",
)


class Run(NamedTuple):
    """What a golden number needs of a record; settings as JSON has them."""

    tier: str
    experiment: str
    settings: dict[str, Any]
    seed: int
    measurements: Measurements


class InProcess:
    """A session that keeps nothing."""

    device, form = "cpu", "plain"

    def __init__(self, seed: int) -> None:
        self.seeds = (seed,)

    def load(self, _phase: str) -> None:
        return None

    def save(self, *_checkpoint: object) -> None: ...

    def progress(self, *_done: object) -> None: ...


def archived(slug: str) -> Iterator[Run]:
    """The runs of a shipped archive."""
    with tarfile.open(ROOT / "reports" / "paper" / slug / "records.tar.xz") as archive:
        for member in archive:
            if member.name.endswith(".json") and (file := archive.extractfile(member)):
                raw = json.load(file)["record"]
                record = Record.model_validate(raw)
                tier = member.name.split("/")[1]
                yield Run(
                    tier, record.experiment, raw["settings"], record.seed, record.measurements
                )


def in_process(module: Path, paper: Mapping[str, Any]) -> list[Run]:
    """The runs of a small module, made here."""
    sys.path.insert(0, str(module.parent))
    loaded, found = importlib.import_module(module.stem), []
    for arm in paper["arms"].values():
        name = arm["experiment"]
        settings = {**paper["experiments"][name]["settings"], **arm["differs"]}
        typed = {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()}
        experiment = loaded.EXPERIMENTS[name]
        for seed in arm["seeds"]:
            measured = experiment.measure(experiment.settings(**typed), InProcess(seed))[seed]
            found.append(Run("in-process", name, settings, seed, measured))
    return found


def by_arm(paper: Mapping[str, Any], runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The runs of each arm in the order of its seeds."""
    found = {}
    for name, arm in paper["arms"].items():
        experiment = arm["experiment"]
        settings = {**paper["experiments"][experiment]["settings"], **arm["differs"]}
        wanted = arm["tier"], experiment, settings
        own = {run.seed: run for run in runs if (run.tier, run.experiment, run.settings) == wanted}
        found[name] = [own[seed] for seed in arm["seeds"]]
    return found


def conditions(row: Mapping[str, Any], reads: Mapping[str, str]) -> dict[str, Condition]:
    """The conditions of a row's check by label, by the row's own rule."""
    rule = {"name": row["part"], "reason": "", **row["rule"]}
    part = CHECK.validate_json(json.dumps(rule)).reading(reads)
    return {one.label: one for one in part.conditions()}


def numbers(
    condition: Condition, runs: Sequence[Run], declarations: Mapping[str, Declaration]
) -> dict[str, list[float | None]]:
    """What each run gives, and its most favourable reading where there are two."""
    found: dict[str, list[float | None]] = {}
    alternative = runs[0].tier == ALTERNATIVES
    kindest, digits = (None, 6) if alternative else (condition.kindest, 10)
    for name, value in (("numbers", condition.value), ("kindest", kindest)):
        if value is None:
            continue
        for run in runs:
            sample = Sample(run.seed, run.measurements, declarations, run.settings)
            try:
                number = float(f"{value(sample):.{digits}g}")
            except MeasurementMissingError:
                number = None
            found.setdefault(name, []).append(number)
    return found


def declarations_of(paper: Mapping[str, Any]) -> dict[str, dict[str, Declaration]]:
    """The declarations of each experiment, by its name."""
    return {
        name: {
            key: Declaration.model_validate_json(json.dumps(one))
            for key, one in experiment["measurements"].items()
        }
        for name, experiment in paper["experiments"].items()
    }


def measured(runs: Sequence[Run]) -> dict[str, list[Any]]:
    """The last value of each measurement, for each run."""
    found: dict[str, list[Any]] = {}
    for run in runs:
        m = run.measurements
        last = {name: one.values[-1] for name, one in m.series.items()}
        for name, value in sorted({**m.scalars, **last, **m.arrays}.items()):
            found.setdefault(name, []).append(_shortened(np.asarray(value)))
    return found


def _shortened(value: Any) -> Any:
    if value.ndim >= 2 and value.shape[-1] == value.shape[-2] >= MATRIX:
        norm = np.linalg.norm(value, axis=(-2, -1))
        value = np.stack([np.trace(value, axis1=-2, axis2=-1), norm], axis=-1)
    flat = [float(f"{x:.6g}") for x in value.ravel().tolist()]
    return flat if value.ndim else flat[0]


# --- writing ------------------------------------------------------------------------------------


def described(audit: Audit, tier: TierName) -> dict[str, Any]:
    """The experiments of an audit: own settings and declarations."""
    return {
        name: {
            "settings": _plain(audit.values_of(name, tier)),
            "measurements": {
                key: one.model_dump(mode="json", exclude_defaults=True)
                for key, one in sorted(audit.measurements_of(name).items())
            },
        }
        for name in audit.experiments
    }


def _plain(value: Any) -> Any:
    """Lists for tuples, as JSON has them."""
    return json.loads(json.dumps(value))


def arms_of(runs: Sequence[Run], experiments: Mapping[str, Any]) -> dict[str, Any]:
    """The arms of a paper by name, those of the paper tier first."""
    arms: dict[str, Any] = {}
    for run in sorted(runs, key=lambda run: run.seed):
        own = experiments[run.experiment]["settings"]
        differs = {name: one for name, one in sorted(run.settings.items()) if one != own[name]}
        arm = {"tier": run.tier, "experiment": run.experiment, "differs": differs, "seeds": []}
        name = arm_name(run.experiment, differs)
        arms.setdefault(name, arm)["seeds"].append(run.seed)
        assert arms[name]["tier"] == run.tier, name
    return dict(sorted(arms.items(), key=lambda item: (item[1]["tier"] != "paper", item[0])))


def arm_name(experiment: str, differs: Mapping[str, Any]) -> str:
    stated = (f"{name}={json.dumps(one)}".replace('"', "") for name, one in differs.items())
    return " ".join((experiment, *stated))


class Read(NamedTuple):
    """An arm that a claim reads, in what role, and with which measurements replaced."""

    role: str
    arm: str
    reads: Mapping[str, str]


def read_by(audit: Audit, claim: Claim, arms: Mapping[str, Any]) -> Iterator[Read]:
    """The arms that a claim reads: its own, its controls', and each under alternatives."""
    guessed = {n for n, s in audit.settings_of(claim.experiment).items() if s.others}
    own = Control.model_construct(experiment=claim.experiment, why="the claim itself")
    controls, positive = audit.controls_of(claim), audit.positive_control_of(claim)
    roles = [("own", own), *((f"control {one.name or ''}".strip(), one) for one in controls)]
    roles += [("constructed", positive)] if isinstance(positive, Control) else []
    for role, one in roles:
        settings = _plain(dict(one.settings))
        for name, arm in arms.items():
            differs = arm["differs"]
            beyond = differs.keys() - settings.keys()
            if (
                arm["experiment"] == one.experiment
                and all(differs.get(key) == value for key, value in settings.items())
                and beyond <= guessed
                and bool(beyond) == (arm["tier"] == ALTERNATIVES)
            ):
                yield Read(role, name, one.substitutes)


def rows_of(
    claims: Iterable[tuple[str, Sequence[Any], Iterable[Read]]],
    paper: Mapping[str, Any],
    runs: Sequence[Run],
) -> list[dict[str, Any]]:
    """A row for each claim, check, part and condition, with the numbers of every run."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    own, declared = by_arm(paper, runs), declarations_of(paper)
    for claim, checks, every in claims:
        for role, arm, reads in every:
            several = own[arm]
            declarations = declared[several[0].experiment]
            first = Sample(0, several[0].measurements, declarations, several[0].settings)
            for index, check in enumerate(checks):
                for part in check.parts(first):
                    for one in part.reading(reads).conditions():
                        key = claim, index, part.name, one.label
                        row = rows.setdefault(key, row_of(*key, part, one))
                        row["reads"].update({role: reads} if reads else {})
                        for name, found in numbers(one, several, declarations).items():
                            assert row.setdefault(name, {}).setdefault(role, {}).get(arm) is None
                            row[name][role][arm] = found
    return list(rows.values())


def row_of(
    claim: str, index: int, name: str, label: str, part: Any, condition: Condition
) -> dict[str, Any]:
    """A row without runs."""
    left_out = {"name", "reason", "each", "among", "ablation", "ablation_misses"}
    rule = part.model_dump(mode="json", exclude=left_out, exclude_defaults=True)
    return {
        "claim": claim,
        "check": index,
        "part": name,
        "condition": label,
        "side": condition.side,
        "accepted": [end if math.isfinite(end) else None for end in condition.accepted],
        "scale": str(condition.scale),
        "rule": {"kind": part.kind, **rule},
        "reads": {},
    }


def written(value: Any, indent: str = "") -> str:
    """JSON with as much on a line as fits, so that a change shows in few lines."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) <= LINE or not isinstance(value, dict | list | tuple):
        return line
    inner = indent + " "
    if isinstance(value, dict):
        items = [f"{json.dumps(name)}: {written(one, inner)}" for name, one in value.items()]
    else:
        items = [written(one, inner) for one in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(items) + f"\n{indent}{closing}"


def archived_paper(slug: str) -> dict[str, Any]:
    """What the file holds of a paper with shipped records."""
    audit, runs = load_audit(ROOT / "audits" / f"{slug}.yaml"), list(archived(slug))
    paper: dict[str, Any] = {"experiments": described(audit, "paper")}
    paper["arms"] = arms_of(runs, paper["experiments"])
    claims = [(one.id, one.checks, read_by(audit, one, paper["arms"])) for one in audit.claims]
    paper["checks"] = rows_of(claims, paper, runs)
    return with_measured(paper, runs)


def tutorial() -> dict[str, Any]:
    """What the file holds of the tutorial, for 2,000 steps."""
    audit = load_audit(TUTORIAL.with_suffix(".yaml"))
    paper: dict[str, Any] = {"experiments": described(audit, "paper")}
    paper["experiments"]["separable"]["settings"]["steps"] = 2000
    paper["arms"] = in_process_arms(
        "separable", {}, {"loss": "squared"}, {"weights": "constructed"}
    )
    runs = in_process(TUTORIAL, paper)
    claims = [(one.id, one.checks, read_by(audit, one, paper["arms"])) for one in audit.claims]
    paper["checks"] = rows_of(claims, paper, runs)
    return with_measured(paper, runs)


def toy() -> dict[str, Any]:
    """What the file holds of the toy, whose claims are stated here."""
    loss, final = ({"kind": kind, "unit": "1", "meaning": "Half of w²."} for kind in KINDS)
    settings = {"steps": 40, "rate": 0.1, "sizes": [3], "pause": 0.0}
    described = {"settings": settings, "measurements": {"loss": loss, "final": final}}
    paper: dict[str, Any] = {"experiments": {"descent": described}}
    paper["arms"] = in_process_arms("descent", {}, {"rate": 0.0})
    reads = [Read("own", "descent", {}), Read("control", "descent rate=0.0", {})]
    runs = in_process(TOY, paper)
    checks = [
        CHECK.validate_python({"name": "toy", "reason": "None.", **one}) for one in TOY_CHECKS
    ]
    paper["checks"] = rows_of([("toy2020.descent", checks, reads)], paper, runs)
    return with_measured(paper, runs)


KINDS = ("series", "scalar")
TOY_CHECKS = (
    {"kind": "converges", "loss": {"measurement": "loss"}, "falls_by": 10.0, "settles_within": 2.0},
    {"kind": "reaches", "quantity": {"measurement": "final"}, "at_most": 0.1, "scale": "log"},
)


def in_process_arms(experiment: str, *differing: Mapping[str, Any]) -> dict[str, Any]:
    """The arms of a small module, with three seeds each."""
    arms = {}
    for differs in differing:
        arm = {"tier": "in-process", "experiment": experiment, "differs": differs}
        arms[arm_name(experiment, differs)] = {**arm, "seeds": [0, 1, 2]}
    return arms


def with_measured(paper: dict[str, Any], runs: Sequence[Run]) -> dict[str, Any]:
    """The paper with what its arms measured, and without declarations that nothing reads."""
    own = by_arm(paper, runs)
    kept = {name: one for name, one in own.items() if one[0].tier != ALTERNATIVES}
    return {**paper, "measured": {name: measured(one) for name, one in kept.items()}}


def main() -> None:
    papers = {slug: archived_paper(slug) for slug in ARCHIVED}
    papers |= {"soudry2018": tutorial(), "toy2020": toy()}
    GOLDEN.write_text(written({"about": ABOUT, "papers": papers}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
