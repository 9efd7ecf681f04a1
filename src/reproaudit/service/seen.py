"""What somebody's results seem to hold, for a draft: the method, its arms, what was measured.

Nothing is known of them but what their files say. So several ways to read them are drafted, and the
first holds that `judge` reads to the end; where it reads none, its question is passed on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from itertools import product
from pathlib import Path
from typing import NamedTuple

from reproaudit.audit.card import Card
from reproaudit.audit.draft import MOST_IN_FULL, TODO, Results, draft_claims
from reproaudit.audit.loading import read_audit
from reproaudit.errors import AuditError, UsageError
from reproaudit.files import scratch_folder
from reproaudit.logs.asked import Asked
from reproaudit.logs.finding import find_runs
from reproaudit.logs.logged import LoggedRun, some
from reproaudit.logs.names import (
    LIKE_SEED_IN_NAME,
    SEED_COUNTS,
    SEED_IN_NAME,
    SEED_LIKE,
    SEED_NAMES,
    SPLITS,
    SPREADS,
    STEP_IN_NAME,
    is_own,
    is_summed,
    last_part,
    normal,
    words_of_name,
)
from reproaudit.service.judge import judge_logs

MOST_COMPARED = MOST_IN_FULL + 1  # arms that a draft makes claims of
EVERYTHING = Asked(wanted=frozenset({"*"}))
_SLUG = "results"

_OWN = frozenset({"ours", "own", "our", "proposed", "method", "new", "treatment", "main"})
_OTHERS = re.compile(r"(?i)base|control|reference|vanilla|sgd|random|checkpoint|shuffl|null")
_RANKS = {"test": -1, "train": 1, "training": 1}  # claims are seldom about training
_ARM_KEYS = ("arm", "method", "algorithm", "algo", "agent", "variant", "condition", "model")
_WORDS = re.compile(r"[\W_]+")
_JOINT = re.compile(r"[./_ :|-]")
_COUNTED = re.compile(r"\d+|(?i:seed|split|fold)[_=-]?\d+")  # a key that numbers runs
MOST_WAYS = 4  # ways of a kind that are tried
UNNAMED = "outcome"  # what a number is called that has no name in files
_BOOKKEEPING = re.compile(
    r"(?i)(?<![a-z])(time|timestamp|seconds|sec|ms|runtime|duration|latency|wall|walltime|clock|lr|"
    r"learning_rate|memory|mem|[mg]b|bytes|flops|counts?|num|tokens|epochs?|steps?|iterations?)(?![a-z])"
)
_BESIDE = re.compile(r"(?i)readme|summary")  # files that sum up the runs beside them


def results_in(files: Sequence[Path], slug: str) -> tuple[Results, list[str]]:
    """Return what files seem to hold, and what is to be said of it; an AuditError if nothing.

    An arm whose name is in the paper's slug is its method.
    """
    runs = _numbers_in(files, EVERYTHING)
    tags = frozenset(tag for run in runs for tag in _numbers_of(run))
    runs = _numbers_in(files, Asked(wanted=tags))  # what holds text may tell runs apart
    ways = [way for way in _ways(runs, re.sub(r"\d+$", "", slug)) if way.measurements]
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
        runs = find_runs(files, asked, scratch)[0]
    own = [r for r in runs if not all(_BESIDE.search(file.name) for file in r.files)]
    return own if 2 * len(own) > len(runs) else runs


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
    written |= {results.method, *results.arms} if UNNAMED in written else set()
    tags = dict.fromkeys(tag for run in runs for tag in _numbers_of(run))
    others = [
        tag
        for tag in tags
        if not any(words_of_name(name) <= words_of_name(tag) for name in written)
    ]
    if others:
        yield f"also measured, and in no claim: {some(others)}"


# --- ways to read them ----------------------------------------------------------------------------


def _ways(runs: Sequence[LoggedRun], slug: str) -> Iterator[Results]:
    """Yield what the runs may hold: arms by keys, by settings, by names of files and of numbers."""
    tags = [*dict.fromkeys(tag for run in runs for tag in _numbers_of(run))]
    tags = [tag for tag in tags if not _BOOKKEEPING.search(tag)] or tags
    tags = [tag for tag in tags if not SEED_LIKE.fullmatch(last_part(tag))]
    tags = [t for t in tags if not is_summed(t) and not SPREADS & words_of_name(t)] or tags
    tags.sort(key=lambda tag: sum(_RANKS.get(word, 0) for word in words_of_name(tag)))
    series = {tag for tag in tags if _is_series(tag, runs)}
    own = {_Name(tag[: tag.rfind(".") + 1], tag.rpartition(".")[2]): tag for tag in tags}
    as_keys, in_words = _in_tags(tags, slug)
    as_values = [
        (arms, {name: tag for name, tag in own.items() if not _is_set(tag, arms)} or own)
        for arms in (*_in_settings(runs).values(), *_in_names(runs))
    ]
    for arms, names in (*as_keys, *as_values, *in_words, ({}, own)):
        whole = {(name.above + name.rest).rstrip("."): tag for name, tag in names.items()}
        plain = {name.rest: tag for name, tag in names.items()}
        if plain != whole and all(plain) and len(plain) == len(whole):
            yield _results(arms, plain, series, slug)
        yield _results(arms, whole, series, slug)


class _Name(NamedTuple):
    """What a number is called: the objects above it, and below them."""

    above: str
    rest: str


_Arms = Mapping[str, Sequence[LoggedRun]]
"""Arms, with the runs of each where these are of one arm."""
_Way = tuple[_Arms, Mapping[_Name, str]]
"""Arms, and what all of them have, with one of the tags that hold it."""


def _in_tags(tags: Sequence[str], slug: str) -> tuple[Sequence[_Way], Sequence[_Way]]:
    """Return the arms that tags may name, as keys of an object and as words of a name.

    All keys of the object have the same below them, or one is called as an arm is. Words are
    arms if one is called so, since `top1_acc` and `top5_acc` are two numbers; whole names are, if
    one is called as a method is.
    """
    places: dict[tuple[str, str], dict[str, str]] = {}
    below: dict[str, set[str]] = {}
    for tag in tags:
        for before, arm, after in _splits(tag):
            below.setdefault(before, set()).add((arm + after).partition(".")[0])
            if "." not in arm and not is_summed(arm) and any(map(str.isalpha, arm)):
                places.setdefault((before, after), {})[arm] = tag
    keys: dict[tuple[str, ...], dict[_Name, str]] = {}
    words: dict[tuple[str, ...], dict[_Name, str]] = {}
    for (before, after), arms in places.items():
        above = before[: before.rfind(".") + 1]
        left = before[len(above) :]
        name = _Name(above, left + after[1:] if after else left[:-1])
        tag = next(iter(arms.values()))
        is_told = any(_is_called_arm(arm, slug) for arm in arms)
        is_key = before == above and after.startswith(".")
        if len(arms) < 2 or not (is_told or (is_key and below[before] <= {*arms})):
            continue
        if is_key and SPLITS.isdisjoint(arms):
            keys.setdefault(tuple(arms), {})[name] = tag
        is_named = any(name) or not {*_OWN, slug}.isdisjoint(arms)
        if is_named and not is_key and not any(SPLITS & words_of_name(arm) for arm in arms):
            words.setdefault(tuple(arms), {})[name] = tag
    told = sorted(keys, key=lambda arms: not any(_is_called_arm(arm, slug) for arm in arms))
    shortest = sorted(words, key=lambda arms: len("".join(arms)) / len(arms))
    as_keys = [(dict.fromkeys(arms, ()), keys[arms]) for arms in told[:MOST_WAYS]]
    return as_keys, [(dict.fromkeys(arms, ()), words[arms]) for arms in shortest[:MOST_WAYS]]


def _splits(tag: str) -> Iterator[tuple[str, str, str]]:
    """Yield a tag without keys of seeds, with each row of its words apart: before, it, after."""
    name = ".".join(part for part in tag.split(".") if not _COUNTED.fullmatch(part))
    ends = [joint.start() for joint in _JOINT.finditer(name)]
    for start, end in product([0, *(end + 1 for end in ends)], [*ends, len(name)]):
        if start < end:
            yield name[:start], name[start:end], name[end:]


def _is_called_arm(text: str, slug: str) -> bool:
    known = {*_OWN, slug}
    return not known.isdisjoint(_WORDS.split(text.lower())) or _OTHERS.search(text) is not None


def _in_settings(runs: Sequence[LoggedRun]) -> dict[str, _Arms]:
    """Return the runs by the values of each setting of text that differs between them."""
    values: dict[str, dict[str, list[LoggedRun]]] = {}
    for run in runs:
        for key, value in run.config.items():
            if isinstance(value, str) and not is_own(key):
                values.setdefault(key, {}).setdefault(value, []).append(run)
    several = [key for key, texts in values.items() if 1 < len(texts) <= MOST_COMPARED]
    several.sort(key=lambda key: last_part(key) not in _ARM_KEYS)
    return {key: values[key] for key in several}


def _cases(arms: _Arms) -> list[dict[str, str]]:
    """Return the values of texts, such as data sets, that every arm has in several runs each."""
    crossing = {}
    for key, values in _in_settings([run for own in arms.values() for run in own]).items():
        pairs = Counter((arm, run.config.get(key)) for arm, own in arms.items() for run in own)
        if len(pairs) == len(arms) * len(values) and min(pairs.values()) > 1:
            crossing[re.sub(r"\W+", "_", last_part(key))] = [*values]
    return [dict(zip(crossing, texts, strict=True)) for texts in product(*crossing.values())]


def _in_names(runs: Sequence[LoggedRun]) -> Iterator[_Arms]:
    """Yield the runs by what tells their names apart, but for seeds, steps and numbers."""
    texts = ["/".join(run.parts) for run in runs]
    for counted in (SEED_IN_NAME, STEP_IN_NAME, LIKE_SEED_IN_NAME):
        texts = [counted.sub("/", text) for text in texts]
    texts = [re.sub(r"\.[a-z]{2,5}(\.gz)?$|\([^)]*\)", "", text) for text in texts]
    for joint in ("_", r"_(?=$|\d)"):
        plain = [[w for w in re.split(rf"[/\s.\-]+|{joint}|\d+$", text) if w] for text in texts]
        every = set.intersection(*map(set, plain)) - {"no", "without"}
        arms: dict[str, list[LoggedRun]] = {}
        for run, words in zip(runs, plain, strict=True):
            arms.setdefault("_".join(w for w in words if w not in every), []).append(run)
        if 1 < len(arms) <= MOST_COMPARED and all(arms) and min(map(len, arms.values())) > 1:
            yield arms


def _is_set(tag: str, arms: _Arms) -> bool:
    """Tell whether a number is the same in all runs of each arm, as a setting is."""
    values = {
        (arm, curve.values.tobytes())
        for arm, runs in arms.items()
        for run in runs
        for curve in run.curves.get(tag, {}).values()
    }
    return len(values) <= len(arms) < sum(map(len, arms.values()))


def _results(arms: _Arms, tags: Mapping[str, str], series: Collection[str], slug: str) -> Results:
    """Return results with the names that an audit may have, and what these are called in files.

    Args:
        tags: what is measured, as judge calls it, with one of the tags that hold it.
    """
    named = _named(arms)
    cases = _cases(arms)
    most = max(1, MOST_IN_FULL // max(1, len(named) - 1) // len(cases))
    measured = _named([*tags][:most])
    method = _method([*named], slug) if named else ""
    called = {
        "arms": {name: arm for name, arm in named.items() if name != arm.lower()},
        "mapping": {name: tag for name, tag in measured.items() if tag not in (name, "")},
    }
    return Results(
        method=method,
        arms=tuple(name for name in named if name != method),
        measurements=tuple(measured),
        series={name: tag for name, tag in measured.items() if tags[tag] in series},
        files={part: names for part, names in called.items() if names},
        cases=cases,
    )


def _named(texts: Collection[str]) -> Mapping[str, str]:
    """Return each text by a name of lower-case words and underscores."""
    named: dict[str, str] = {}
    for text in texts:
        name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or UNNAMED
        name = name if name[:1].isalpha() else f"n_{name}"
        named.setdefault(name, text)
    return named


def _method(arms: Sequence[str], slug: str) -> str:
    """Return the arm that claims seem to be about: called so, or as the paper, or as no other."""
    in_slug = [arm for arm in arms if arm in slug or slug in arm]
    own = [arm for arm in arms if _OWN & set(arm.split("_"))]
    no_other = [arm for arm in arms if not _OTHERS.search(arm)]
    return next(iter((*in_slug, *own, *no_other, *arms)))
