"""What somebody's results seem to hold, for a draft: the method, its arms, what was measured.

Nothing is known of them but what their files say. So several ways to read them are drafted, and the
first holds that `judge` reads to the end; where it reads none, its question is passed on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

from reproaudit.audit.card import Card
from reproaudit.audit.draft import MOST_IN_FULL, TODO, Results, draft_claims
from reproaudit.audit.loading import read_audit
from reproaudit.errors import AuditError, UsageError
from reproaudit.files import scratch_folder
from reproaudit.logs.asked import Asked
from reproaudit.logs.finding import find_runs
from reproaudit.logs.logged import LoggedRun, some
from reproaudit.logs.names import (
    SEED_COUNTS,
    SEED_IN_NAME,
    SEED_NAMES,
    STEP_IN_NAME,
    is_own,
    last_part,
    normal,
)
from reproaudit.service.judge import judge_logs

MOST_COMPARED = MOST_IN_FULL + 1  # arms that a draft makes claims of
EVERYTHING = Asked(wanted=frozenset({"*"}))
_SLUG = "results"

_OWN = frozenset({"ours", "own", "our", "proposed", "method", "new", "treatment", "main"})
_OTHERS = re.compile(r"(?i)base|control|reference|vanilla|sgd|random|checkpoint|shuffl|null")
_SPLITS = frozenset({"train", "training", "val", "valid", "validation", "test", "eval", "dev"})
_ARM_KEYS = ("arm", "method", "algorithm", "algo", "agent", "variant", "condition", "model")
_BOOKKEEPING = re.compile(
    r"(?i)(^|[_./])(time|timestamp|seconds|runtime|duration|epochs?|steps?|iterations?|lr|"
    r"learning_rate|memory)\b"
)


def results_in(files: Sequence[Path], slug: str) -> tuple[Results, list[str]]:
    """Return what files seem to hold, and what is to be said of it; an AuditError if nothing.

    An arm whose name is in the paper's slug is its method.
    """
    runs = _numbers_in(files, EVERYTHING)
    tags = frozenset(tag for run in runs for tag in _numbers_of(run))
    runs = _numbers_in(files, Asked(wanted=tags))  # what holds text may tell runs apart
    ways = [way for way in _ways(runs, slug) if way.measurements]
    refusals: list[str] = []
    for way in ways:
        try:
            _tried(way, files)
        except AuditError as error:
            refusals.append(str(error))
        else:
            return way, [*_remarks(way, runs)]
    if not ways:
        raise UsageError(f"{files[0]}: found no number of a run; expected what judge reads.")
    asked = refusals[0].splitlines()[0]
    return ways[0], [*_remarks(ways[0], runs), f"judge asks before it reads them: {asked}"]


def _numbers_in(files: Sequence[Path], asked: Asked) -> list[LoggedRun]:
    with scratch_folder() as scratch:
        return find_runs(files, asked, scratch)[0]


def _numbers_of(run: LoggedRun) -> list[str]:
    """Return the tags of a run under which there are numbers, other than seeds."""
    return [
        tag
        for tag, curves in run.curves.items()
        if any(curve.values.size for curve in curves.values())
        and normal(tag.rpartition(".")[2]) not in {*SEED_NAMES, *SEED_COUNTS}
    ]


def _is_series(tag: str, runs: Sequence[LoggedRun]) -> bool:
    curves = (curve for run in runs for curve in run.curves.get(tag, {}).values())
    return any(curve.steps is not None and curve.values.size > 1 for curve in curves)


def _tried(results: Results, files: Sequence[Path]) -> None:
    """Judge the files by a draft of theirs, with anything in place of what is left open."""
    text = draft_claims(_SLUG, Card(title=_SLUG), date(2026, 1, 1), (), results)
    closed = text.replace(f"higher: {TODO}", "higher: true").replace(f"from: {TODO}", "from: paper")
    closed = re.sub(rf"(at_least|at_most): {TODO}", r"\1: 0", closed).replace(TODO, "to be written")
    audit, faults = read_audit(f"{_SLUG}.yaml", closed)
    if audit is None:
        raise AuditError("; ".join(fault.message for fault in faults))
    logs = judge_logs(audit, files).logs
    if logs is None or len(logs.measured) <= len(results.arms):
        raise AuditError(f"{files[0]}: found no run of some of {some(results.arms)}.")


def _remarks(results: Results, runs: Sequence[LoggedRun]) -> Iterator[str]:
    if results.arms:
        yield f"method: taken as '{results.method}', against {some(results.arms)}"
    written = {*results.measurements, *results.files.get("mapping", {}).values()}
    tags = dict.fromkeys(tag for run in runs for tag in _numbers_of(run))
    others = [tag for tag in tags if not any(name in tag for name in written)]
    if others:
        yield f"also measured, and in no claim: {some(others)}"


# --- ways to read them ----------------------------------------------------------------------------


def _ways(runs: Sequence[LoggedRun], slug: str) -> Iterator[Results]:
    """Yield what the runs may hold: arms by names of numbers, by settings, by names of files."""
    tags = list(dict.fromkeys(tag for run in runs for tag in _numbers_of(run)))
    series = {tag for tag in tags if _is_series(tag, runs)}
    for arms, names in _in_tags(tags):
        yield _results(arms, names, series, slug)
    for arms in (*_in_settings(runs), *_in_names(runs), []):
        yield _results(arms, tags, series, slug)


def _in_tags(tags: Sequence[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the arms that are keys of an object, each with the same numbers below it."""
    parts = [tag.split(".") for tag in tags]
    for depth in range(max(map(len, parts), default=0) - 1):
        below: dict[str, list[str]] = {}
        for tag in parts:
            if depth < len(tag) - 1:
                below.setdefault(tag[depth], []).append(".".join(tag[depth + 1 :]))
        shared = set.intersection(*map(set, below.values())) if below else set()
        if len(below) > 1 and shared and not _SPLITS & below.keys():
            yield [*below], [name for name in next(iter(below.values())) if name in shared]


def _in_settings(runs: Sequence[LoggedRun]) -> Iterator[list[str]]:
    """Yield the values of each setting of text that differs between runs."""
    values: dict[str, dict[str, None]] = {}
    for run in runs:
        for key, value in run.config.items():
            if isinstance(value, str) and not is_own(key):
                values.setdefault(key, {})[value] = None
    several = [key for key, texts in values.items() if 1 < len(texts) <= MOST_COMPARED]
    several.sort(key=lambda key: last_part(key) not in _ARM_KEYS)
    yield from ([*values[key]] for key in several)


def _in_names(runs: Sequence[LoggedRun]) -> Iterator[list[str]]:
    """Yield what tells the names of runs apart, but for seeds, steps and numbers."""
    plain = []
    for run in runs:
        text = STEP_IN_NAME.sub("/", SEED_IN_NAME.sub("/", "/".join(run.parts)))
        text = re.sub(r"\.[a-z]{2,5}(\.gz)?$|\([^)]*\)", "", text)
        plain.append([word for word in re.split(r"[/\s.\-]+|_(?=$|\d)|\d+$", text) if word])
    every = set.intersection(*map(set, plain)) if plain else set()
    arms = Counter("_".join(word for word in words if word not in every) for words in plain)
    if 1 < len(arms) <= MOST_COMPARED and all(arms) and min(arms.values()) > 1:
        yield [*arms]


def _results(
    arms: Collection[str], tags: Sequence[str], series: Collection[str], slug: str
) -> Results:
    """Return results with the names that an audit may have, and what these are called in files."""
    named = _named(arms)
    most = max(1, MOST_IN_FULL // max(1, len(named) - 1))
    measured = _named([tag for tag in tags if not _BOOKKEEPING.search(tag)][:most])
    method = _method([*named], slug) if named else ""
    called = {
        "arms": {name: arm for name, arm in named.items() if name != arm.lower()},
        "mapping": {name: tag for name, tag in measured.items() if name != tag},
    }
    return Results(
        method=method,
        arms=tuple(name for name in named if name != method),
        measurements=tuple(measured),
        series={name: tag for name, tag in measured.items() if tag in series},
        files={part: names for part, names in called.items() if names},
    )


def _named(texts: Collection[str]) -> Mapping[str, str]:
    """Return each text by a name of lower-case words and underscores."""
    named: dict[str, str] = {}
    for text in texts:
        name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
        name = name if name[:1].isalpha() else f"n_{name}"
        named.setdefault(name, text)
    return named


def _method(arms: Sequence[str], slug: str) -> str:
    """Return the arm that claims seem to be about: called so, or as the paper, or as no other."""
    plain = re.sub(r"\d+$", "", slug)
    in_slug = [arm for arm in arms if arm in plain or plain in arm]
    own = [arm for arm in arms if _OWN & set(arm.split("_"))]
    no_other = [arm for arm in arms if not _OTHERS.search(arm)]
    return next(iter((*in_slug, *own, *no_other, *arms)))
