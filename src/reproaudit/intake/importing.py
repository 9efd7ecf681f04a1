"""Somebody else's logs become measurements, and what became of every log is said in sentences."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

from reproaudit.audit.arms import (
    ARM_NAME,
    PlannedArm,
    Role,
    alternatives_of,
    arms_of,
    quantities_of,
)
from reproaudit.audit.model import Audit, Claim, known_tier
from reproaudit.audit.plan import scope_of
from reproaudit.errors import AuditError, SpecError, UsageError, did_you_mean
from reproaudit.files import scratch_folder
from reproaudit.formats.numbers import NOT_STATED
from reproaudit.intake.labels import (
    asked_of,
    is_named,
    labelled_runs,
    stated_of,
    unmatched_names,
    with_arms,
    with_plain_tags,
    with_readings,
)
from reproaudit.intake.measured_roles import MeasuredRole, measured_role
from reproaudit.intake.measuring import axis_places, off_axes, off_axes_words
from reproaudit.intake.memory import MeasuredRuns, manifest_head
from reproaudit.intake.pooling import Request, absence, names_line
from reproaudit.intake.reading import left_out_words
from reproaudit.intake.roles import (
    COPIED,
    IDLE,
    RESUMED,
    StrayError,
    compare_settings,
    crashed_seeds,
    manifest_settings,
    no_tag,
    place_runs,
    refuse_unmatched,
    role_of,
)
from reproaudit.judge.alike import AS_FAR
from reproaudit.logs.asked import Asked
from reproaudit.logs.configurations import seeds_told
from reproaudit.logs.finding import by_reason, find_runs
from reproaudit.logs.joining import is_copy
from reproaudit.logs.logged import (
    MOST_LISTED,
    NOWHERE,
    LogError,
    LoggedCoordinates,
    LoggedRun,
    LogsError,
    on_one_line,
    some,
)
from reproaudit.logs.mapping import (
    LoggedQuantity,
    MappingFile,
    arms_line,
    flow,
    mapping_of,
)
from reproaudit.logs.names import (
    SEED_COUNTS,
    abbreviates,
    is_called,
    is_seed_name,
    is_started_with,
    kinship,
    may_be,
    measures_alike,
    names_arm,
    normal,
    tells_version,
    templates_of,
    words_of_name,
)
from reproaudit.logs.rows import NOT_USED
from reproaudit.records import Origin

MOST_UNUSED = 40  # tags and columns that are not used, as a sentence lists them


@dataclass(frozen=True)
class ImportedLogs:
    """What became of logs."""

    audit: Audit  # the audit, with every stated reading that runs have
    measured: Sequence[MeasuredRuns]  # the measurements that were made of them
    head: Mapping[str, Any]  # what their manifest says of all runs
    horizons: Mapping[str, int]  # measurement -> the last step that all runs have of its series
    files: Sequence[Path]  # what the runs were read from; of an archive, the archive
    ignored_runs: Sequence[str]  # names of runs that nothing was made of
    skipped: Sequence[str]  # files that were not read, each with the reason
    # each setting that the audit has, beside what the logs state
    settings: Sequence[Mapping[str, Any]]
    lines: Sequence[str]  # all of it in words
    left_out: Sequence[str] = ()  # what may not be whole, and tags that may be what is absent


def import_logs(
    audit: Audit,
    logs: Sequence[Path],
    mapping_file: Path | None = None,
    *,
    claims: Sequence[str] = (),
    **stated: str | None,
) -> ImportedLogs:
    """Make measurements of logs, and say what became of what.

    Args:
        claims: the claims to import for; all if none.
        stated: `tier`, `who` and `source`; those of the mapping file where they are None.

    Raises:
        UsageError: if the command line is wrong.
        LogError: if the logs cannot be used.
        SpecError: listing what is wrong with the mapping, or with the logs.
    """
    mapping = mapping_of(audit, mapping_file)
    try:
        return _imported(audit, logs, mapping, stated, claims)
    except (LogError, LogsError) as refusal:

        def again(answered: MappingFile) -> ImportedLogs:
            return _imported(audit, logs, answered, stated, claims)

        lines = [str(refusal), *_answers(refusal, mapping, again)]
        raise SpecError("\n".join(lines)) from None


def _answers(
    refusal: LogError | LogsError,
    mapping: MappingFile,
    again: Callable[[MappingFile], ImportedLogs],
) -> Iterator[str]:
    """Yield what is asked once the lines that are offered are there, and all of them in a block.

    A line that is offered again when it is there answers nothing, and is not in the block. What
    became of a run is nobody's to say but the user's: below the block stands what is left out with
    it, and the ways on.
    """
    known = mapping
    is_block = len(refusal.offers) > 1
    said = str(refusal).splitlines()
    refused = set[str]()
    left_out: Sequence[str] = ()
    while (answered := known.with_lines(offers := _left(refusal, refused))) != known:
        try:
            left_out = again(answered).left_out
        except (LogError, LogsError) as error:
            if repeated := {*offers} & {*error.offers}:
                refused |= repeated
                continue
            refusal = error
            known = answered
            lines = [line for line in str(error).splitlines() if line not in said]
            said += lines
            yield from (["Then: " + "\n".join(lines)] if lines else [])
            is_block |= bool(lines)
        except AuditError:
            return
        else:
            known = answered
            break
    if (is_block or left_out) and known != mapping:
        yield "In a mapping these lines together, in place of others of their names, say so:"
        yield from known.lines(mapping)
        yield from (f"Then: {line}" for line in left_out)


def _left(refusal: LogError | LogsError, refused: Collection[str]) -> list[str]:
    return [offer for offer in refusal.offers if offer not in refused]


def _imported(
    audit: Audit,
    logs: Sequence[Path],
    mapping: MappingFile,
    stated: Mapping[str, str | None],
    claims: Sequence[str],
) -> ImportedLogs:
    written, request, asked = _asked(audit, mapping, stated, claims)
    tier = request.tier
    mapping = with_arms(request.mapping, asked)
    with scratch_folder() as scratch:
        logged, skipped = find_runs(logs, asked, scratch)
        given = labelled_runs(logged, asked, audit)
        refuse_unmatched(given, [name for name, _ in skipped], mapping)
        unmatched = unmatched_names(logged, asked)
        finished, unfinished = _finished(given, mapping, asked)
        audit, others = with_readings(audit, tier, [*stated_of(finished, audit, mapping)])
        scope = scope_of(audit, tier, claims)
        known = dict.fromkeys((*scope.batches, *(batch for _, batch in others)))
        scope = replace(scope, batches=tuple(known))
        request = Request(audit, tier, scope, mapping, tuple(run.name for run in given))
        try:
            placed, strays = place_runs(request, finished, _unlogged(request, asked, given), asked)
        except LogsError as error:
            raise LogsError("\n".join([str(error), *unmatched]), error.offers) from None
        if not placed:
            raise LogError(str(logs[0]), "found no run that is not ignored; expected one.")
        settings = manifest_settings(audit, placed)
        crashed = crashed_seeds(request, unfinished, placed)
        roles = [measured_role(request, *each, settings, crashed) for each in placed.items()]
        _refuse_unlogged(request, roles, written)
        runs = [placed_run.run for role in roles for placed_run in role.runs.values()]
        origin = _origin(logs, mapping, runs)
    left_out = {stray.place for stray in strays}
    ignored = sorted({run.name for run in finished} - {run.name for run in runs} - left_out)
    parts = {stray.place for stray in strays if stray.why in (COPIED, RESUMED)}
    count = _counted(request, given, asked, roles, parts)
    told = [*_judged_of(count, request, roles, unfinished, strays)]
    told += [*_void(roles), *off_axes_words(_off_axes(roles))]
    akin = [*_akin(request, roles)]
    told += [*_absent_arms(request, asked, roles, strays), *akin, *unmatched]
    counted = [on_one_line(sentence, 5_000) for sentence in told]
    notes = [on_one_line(n, 5_000) for n in _notes(written, roles, ignored, skipped)]
    of_all = {f"{name}.{n}": value for name, own in settings.items() for n, value in own.items()}
    return ImportedLogs(
        audit=audit,
        measured=[_measured(role) for role in roles],
        head=manifest_head(origin, tier, of_all, mapping.proxy, counted, notes, mapping.one_unit),
        horizons=_horizons(roles),
        files=_files(logs, runs),
        ignored_runs=sorted({*ignored, *(run.name for run in unfinished), *left_out}),
        skipped=[f"{name} ({why})" for name, why in skipped],
        settings=compare_settings(audit, placed),
        lines=[*map(_indented, _lines(request, written, roles)), *counted, *notes],
        left_out=[*(line for r in roles for line in left_out_words(r.words, r.withheld)), *akin],
    )


def _finished(
    runs: Sequence[LoggedRun], mapping: MappingFile, asked: Asked
) -> tuple[list[LoggedRun], list[LoggedRun]]:
    """Part the runs that count from those that crashed or still run, and of which no rule speaks.

    Copies of a run that crashed count as it does. A LogError is raised if none has finished.
    """
    finished: list[LoggedRun] = []
    unfinished: list[LoggedRun] = []
    for run in runs:
        rule = mapping.rule(run.name)
        if rule is not None and rule.status == "crashed" and not rule.ignore:
            why = ("the mapping says crashed",)
            run = replace(run, failed=True, not_whole=why, state="crashed")
            rule = None
        is_settled = rule is not None and (rule.ignore or "status" in rule.model_fields_set)
        (finished if is_settled or not run.failed else unfinished).append(run)
    finished = [
        run for run in finished if not any(is_copy(run, gone, asked) for gone in unfinished)
    ]
    if not finished and unfinished:
        first = unfinished[0]
        text = f"found no run that has finished ({'; '.join(first.not_whole)}); expected one."
        raise LogError(first.name, f"{text} Hand in runs that have.")
    return finished, unfinished


def _counted(
    request: Request,
    given: Sequence[LoggedRun],
    asked: Asked,
    roles: Sequence[MeasuredRole],
    parts: Collection[str],
) -> int:
    """Count the runs that were given, but for `parts`, copies, and files with nothing wanted.

    A copy has the numbers of a run of its arm and seed.
    """
    placed = {own.run.name: (role.batch, seed) for role in roles for seed, own in role.runs.items()}
    courses = set[tuple[object, bytes]]()
    count = 0
    for run in sorted(given, key=lambda run: run.name not in placed):
        curves = [
            curve for tag in run.curves if asked.wants(tag) for curve in run.curves[tag].values()
        ]
        values = b"".join(curve.values.tobytes() for curve in curves if len(curve.values) > 1)
        course = (placed.get(run.name) or role_of(request, run) or run.name, values)
        is_copy = bool(values) and course in courses
        is_run = not is_copy and run.name not in parts and (run.failed or curves)
        count += bool(run.name in placed or is_run)
        courses.add(course)
    return count


def _judged(request: Request, roles: Sequence[MeasuredRole]) -> int:
    """Count the runs that claims read, where what they are compared with can be read as well."""
    there = {(role.batch.experiment, role.batch.overrides): role for role in roles}
    seeds: dict[int, set[int]] = {}
    for claim in request.scope.claims:
        read = {quantity.measurement for quantity in quantities_of(claim)}
        for arms in _side_by_side(request.audit, claim):
            known = [(arm, there.get((arm.experiment, arm.changed(request.tier)))) for arm in arms]
            beside = [(arm.role, role) for arm, role in known if role is not None]
            compared = [role for kind, role in beside if kind is Role.COMPARED]
            own = [role for kind, role in beside if kind in _OWN]
            if not all(role.read_of(read) for role in (*own, *compared)):
                continue
            for kind, role in beside:
                others = own if kind is Role.COMPARED else compared
                void = {seed for other in others for seed in other.crashed}
                seeds.setdefault(id(role), set()).update(role.read_of(read) - void)
    return sum(map(len, seeds.values()))


_OWN = (Role.OWN, Role.READING, Role.ALTERNATIVE)


def _side_by_side(audit: Audit, claim: Claim) -> Iterator[list[PlannedArm]]:
    """Yield a claim's own arm with those beside it, under its settings and each other reading."""
    arms = arms_of(audit, claim)
    beside = [arm for arm in arms if arm.role not in _OWN]
    for own in (*arms, *alternatives_of(audit, claim)):
        if own.role in _OWN:
            yield [
                own,
                *(arm.under(own) if arm.experiment == own.experiment else arm for arm in beside),
            ]


def _void(roles: Sequence[MeasuredRole]) -> Iterator[str]:
    """Yield the seeds that are void, since one of the runs that are compared did not finish."""
    for role in roles:
        others = {seed for other in roles if other is not role for seed in other.runs}
        if void := sorted(others.intersection(role.crashed)):
            which = f"the run of {role.words} did not finish"
            yield f"Void, since {which}: seed {', '.join(map(str, void))}."


def _judged_of(
    given: int,
    request: Request,
    roles: Sequence[MeasuredRole],
    unfinished: Sequence[LoggedRun],
    strays: Sequence[StrayError],
) -> Iterator[str]:
    """Yield how many of the runs that were given are judged, and why the others are not."""
    if (judged := _judged(request, roles)) < given:
        yield f"{judged} of {given} runs given were judged."
    rows = Counter(re.sub(r".*\(|\)$", "", name) for name in request.names)
    told: dict[str, list[str]] = {}
    for run in unfinished:
        state = f"{_called(run.name, rows)}: {on_one_line(run.state, 200)}"
        told.setdefault("Not finished, and left out", []).append(state)
    for stray in strays:
        file = _within(stray.place.partition(" (")[0])
        own = _called(stray.place, rows).replace(f"arm {stray.arm}, ", "")
        told.setdefault(stray.why, []).append(file if stray.why in (COPIED, IDLE) else own)
    for why, called in told.items():
        count = f", {len(called)} in all" if len(called) > 1 else ""
        yield f"{why}{count}: {some([*dict.fromkeys(called)])}."


def _absent_arms(
    request: Request, asked: Asked, roles: Sequence[MeasuredRole], strays: Sequence[StrayError]
) -> Iterator[str]:
    """Yield the arms that nothing but a name tells and no run has, and what may be meant."""
    there = {role.batch for role in roles}
    absent = [batch for batch in request.scope.batches if batch not in there]
    tags = sorted({tag for role in roles for tag in role.ignored})
    if not absent or not is_named(request.audit):
        return
    names = [str(batch.settings(request.audit)[ARM_NAME]) for batch in absent]
    yield from (absence(request.audit, batch) for batch in absent)
    others = [stray.arm for stray in strays if stray.arm is not None]
    others = [*dict.fromkeys([*others, *filter(None, (_above(tag, asked) for tag in tags))])]
    if others := others or [tag for tag in tags if _is_of_none(tag, roles)][:MOST_LISTED]:
        is_one = len(others) == len(names) == 1
        asked_for = f"that is {names[0]}" if is_one else "they are among these"
        line = arms_line(names, others)
        way = f"if {asked_for}, write `{line}` in a mapping, or under `files:` in the audit."
        yield f"The logs have {some(others)}; {way}"


def _is_of_none(tag: str, roles: Sequence[MeasuredRole]) -> bool:
    """Tell whether each seed has the same numbers of a tag in every arm, so that it is of none."""
    seeds = set.intersection(*({*role.runs} for role in roles))
    return all(len({_bytes_of(role.runs[seed].run, tag) for role in roles}) == 1 for seed in seeds)


def _bytes_of(run: LoggedRun, tag: str) -> tuple[bytes, ...]:
    return tuple(curve.values.tobytes() for curve in run.curves.get(tag, {}).values())


def _above(tag: str, asked: Asked) -> str:
    """Return the words before a wanted tag, as an arm's name does; '' if nothing does."""
    matched = (re.fullmatch(rf"(.+)[./_: |-]{re.escape(wanted)}", tag) for wanted in asked.wanted)
    return next((each.group(1) for each in matched if each is not None), "")


def _indented(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    return indent + on_one_line(line, 5_000)


def explained_logs(audit: Audit, logs: Sequence[Path], mapping_file: Path | None) -> list[str]:
    """Return what is seen in logs, refusing nothing: each run with its tags, columns and roles."""
    _, request, asked = _asked(audit, mapping_of(audit, mapping_file), {}, ())
    wanted = {name for each in request.scope.measurements.values() for name in each}
    templates = {tag for name in wanted for tag in request.mapping.quantity(name).templates}
    places = _every_place(request)
    lines: list[str] = []
    with scratch_folder() as scratch:
        for path in logs:
            try:
                runs, skipped = find_runs([path], asked, scratch)
            except AuditError as error:
                if not path.exists():
                    raise
                lines += str(error).splitlines()
                continue
            seen: dict[tuple[str, ...], list[str]] = {}
            for run in labelled_runs(runs, asked, audit):
                called, *rest = _explained(run, asked, templates, places)
                seen.setdefault(tuple(rest), []).append(called)
            lines += [line for rest, called in seen.items() for line in (*called, *rest)]
            lines += [f"not read: {reason}" for reason in by_reason(skipped)]
    return [_indented(_FOUND.sub("found text", line)) for line in lines]


_RESULT = re.compile(r"\d[.,]\d|\d\s*%|±")
_FOUND = re.compile(r"found '[^']*\d[.,]\d[^']*'")
"""A cell in a refusal that may hold a result, which whoever asks for names is not to see."""


def _explained(
    run: LoggedRun, asked: Asked, templates: Collection[str], places: LoggedCoordinates
) -> Iterator[str]:
    seeds: Mapping[int, str] = {}
    with suppress(LogError):  # which is told where the run gets its seed
        seeds = seeds_told(run)
    stated = "".join(f", seed {seed} ({where})" for seed, where in seeds.items())
    texts = [name for name, value in run.config.items() if _may_be_result(run, name, value, asked)]
    called = run.name
    for name in texts:
        called = called.replace(f"{name} {run.config[name]}", f"{name} text")
    yield f"{called}: {run.source}{stated}"
    if run.columns:
        yield f"  columns: {', '.join(f'{name} ({role})' for name, role in run.columns.items())}"
    if run.config:
        shown = {name: repr(value) for name, value in run.config.items()}
        shown |= dict.fromkeys(texts, "text")
        yield f"  settings: {', '.join(' = '.join(pair) for pair in shown.items())}"
    for noun, is_wanted in (("wanted", True), ("not used", False)):
        if tags := [tag for tag in run.curves if asked.wants(tag) is is_wanted]:
            yield f"  {noun}: {', '.join(tags)}"
    wanted = {tag: [*own.values()] for tag, own in run.curves.items() if asked.wants(tag)}
    every = [(tag, curve) for tag, curves in wanted.items() for curve in curves]
    faults = dict.fromkeys(f"{tag}: {curve.fault}" for tag, curve in every if curve.fault)
    signed = [tag for tag, curves in wanted.items() if any(curve.percent for curve in curves)]
    in_percent = [f"in per cent: {', '.join(signed)}"] if signed else []
    lost = off_axes_words(off_axes(run, templates, places))
    told = (*faults, *in_percent, *lost, *run.not_whole, *run.remarks)
    yield from (f"  {why}" for why in told)


def _may_be_result(run: LoggedRun, name: str, value: Any, asked: Asked) -> bool:
    """Tell whether a text in a column holds a decimal number, and neither names nor sets up a run.

    So does `acc was 0.91` in a note.
    """
    is_known = name in {*asked.settings, ARM_NAME} or names_arm(name) or is_started_with(name)
    is_text = isinstance(value, str) and _RESULT.search(value) is not None
    return is_text and name in run.columns and not is_known


def _asked(
    audit: Audit, mapping: MappingFile, stated: Mapping[str, str | None], claims: Sequence[str]
) -> tuple[MappingFile, Request, Asked]:
    """Return the mapping with what is stated beside it, which wins, and what is asked."""
    _refuse_unknown_names(audit, mapping)
    known = {name: value for name, value in stated.items() if value is not None}
    written = mapping.model_copy(update=known)
    tier = known_tier(written.tier or "paper")
    if tier == "smoke":
        raise UsageError("--tier: found 'smoke'; expected quick or paper, the scale of the runs.")
    plain = with_plain_tags(written, audit)
    request = Request(audit, tier, scope_of(audit, tier, claims), plain)
    return written, request, asked_of(request, written)


def _refuse_unknown_names(audit: Audit, mapping: MappingFile) -> None:
    settings = {name for experiment in audit.experiments for name in audit.settings_of(experiment)}
    measured = {n for experiment in audit.experiments for n in audit.measurements_of(experiment)}
    parts = (
        ("mapping", mapping.mapping, "measurement", measured),
        ("configuration", mapping.configuration, "setting", settings),
    )
    for part, names, noun, known in parts:
        for name in names:
            if name not in known:
                hint = did_you_mean(name, known)
                raise LogError(f"{part}: {name}", f"found an unknown {noun}. {hint}")


def _origin(logs: Sequence[Path], mapping: MappingFile, runs: Sequence[LoggedRun]) -> Origin:
    loggers = ", ".join(sorted({run.source for run in runs}))
    names = some([*dict.fromkeys(path.name or path.resolve().name for path in logs)])
    youngest = max(file.stat().st_mtime for run in runs for file in run.files)
    return Origin(
        who=mapping.who or NOT_STATED,
        source=on_one_line(mapping.source or f"{loggers} logs: {names}", 300),
        framework=mapping.framework or f"{NOT_STATED}; logged by {loggers}",
        made=mapping.date or datetime.fromtimestamp(youngest, UTC).date(),
    )


def _measured(role: MeasuredRole) -> MeasuredRuns:
    seeds: dict[int, dict[str, Any]] = {seed: {} for seed in role.runs}
    for name, by_seed in role.measured.items():
        for seed, made in by_seed.items():
            curve = made.curve
            seeds[seed][name] = curve.values if curve.steps is None else (curve.steps, curve.values)
    diverged = frozenset(seed for seed, run in role.runs.items() if run.diverged)
    left_out = {name: [on_one_line(why, 1_000) for why in of] for name, of in role.withheld.items()}
    settings = dict(role.batch.overrides)
    crashed = frozenset(role.crashed)
    experiment = role.batch.experiment
    files = dict.fromkeys(placed.run.name.partition(" (")[0] for placed in role.runs.values())
    return MeasuredRuns(
        experiment,
        seeds,
        settings,
        diverged,
        left_out,
        crashed,
        lacking=True,
        called=f"{some([*files])}, the runs of {role.words}",
    )


def _files(logs: Sequence[Path], runs: Sequence[LoggedRun]) -> list[Path]:
    """The files given that hold runs, archives as they are, and those of folders."""
    folders = [path.resolve() for path in logs if path.is_dir()]
    read = {file.resolve() for run in runs for file in run.files}
    below = [file for file in read if any(file.is_relative_to(folder) for folder in folders)]
    return [*(path for path in logs if path.is_file()), *sorted(below)]


def _horizons(roles: Sequence[MeasuredRole]) -> dict[str, int]:
    ends: dict[str, int] = {}
    for role in roles:
        for name, by_seed in role.measured.items():
            for end in (max(made.steps) for made in by_seed.values() if made.steps):
                ends[name] = min(end, ends.get(name, end))
    return ends


def _unlogged(request: Request, asked: Asked, runs: Sequence[LoggedRun]) -> list[LogError]:
    """Return the fault of logs in which nothing of what is wanted has a name that is known."""
    wanted = {name for each in request.scope.measurements.values() for name in each}
    there = {tag for run in runs for tag in run.curves}
    if asked.wants_any(there) or wanted & request.mapping.mapping.keys():
        return []
    line = names_line(request, "tag") if asked.names is None else None
    if line is not None:
        text = f"found the tags {some(sorted(there))}; expected {some(sorted(wanted))}"
        way = f"If the files' names say which is which, write in a mapping `{line}`."
        return [LogError(runs[0].name, f"{text}. {way}", line)]
    numeric = {
        tag
        for run in runs
        for tag, at in run.curves.items()
        if not (tells_version(tag) or any(curve.is_text for curve in at.values()))
    }
    places = _places(request, asked)
    tags = sorted(templates_of(numeric, places), key=lambda tag: (-kinship(tag, wanted), tag))
    of_arms = any("{arm}" in tag for tag in tags)
    steps = {tag for run in runs for tag in run.curves if run.last_step([tag])}
    courses = templates_of(steps, places)
    read = _read_by_claims(request)
    sure = dict(sorted((_sure_tags(read, tags) | _sure_tags(wanted, tags)).items()))
    in_order = sorted(read, key=lambda name: (-kinship(name, tags), len(name), name))
    lines = {
        name: LoggedQuantity(tag=tag).last
        if tag in courses and name not in asked.series
        else json.dumps(tag)
        for name, tag in sure.items()
    }
    is_last = in_order[0] not in asked.series and courses.issuperset(tags)
    open_line = {in_order[0]: LoggedQuantity(tag="TAG").last if is_last and tags else "TAG"}
    way = ", ".join(f"{name}: {tag}" for name, tag in (lines or open_line).items())
    text = f"found the tags {some(tags) or 'nothing'}; expected {some(sorted(wanted))}. Say in a"
    told = {str(run.config[ARM_NAME]): None for run in runs if ARM_NAME in run.config}
    others = [name for name in told if name not in asked.arms]
    absent = [arm for arm in asked.arms if arm not in told] if is_named(request.audit) else []
    named = arms_line(absent, others) if absent else ""
    called = f", as {some(others)} may be" if others else ""
    arms = f" If an arm has another name there{called}: `{named}`." if named else ""
    if named and tags and not (told or of_arms) and all(_above(tag, asked) for tag in tags):
        above = some([*dict.fromkeys(_above(tag, asked) for tag in tags)])
        text = (
            f"found {some(sorted(asked.wanted))} of {above}; expected that of {some([*asked.arms])}"
        )
        return [LogError(runs[0].name, f"{text}. Write in a mapping `{named}`.")]
    line = f"mapping: {{{way}}}"
    offers = [line] if lines else []
    fault = LogError(runs[0].name, f"{text} mapping which is which: `{line}`.{arms}", *offers)
    counted = any(normal(column) in SEED_COUNTS for run in runs for column in run.columns)
    if any("{seed}" in tag or (counted and "{" in tag) for tag in sure.values()):
        raise fault  # this line tells the seeds, too
    return [fault]


def _places(request: Request, asked: Asked) -> dict[str, set[str]]:
    """Return what may stand in a tag by place: arms, coordinates, words that are of settings."""
    places = {name: {v for v in own if isinstance(v, str)} for name, own in asked.values.items()}
    places["arm"] = {*asked.arms}
    for axis, at in _every_place(request):
        places.setdefault(axis, set()).add(at if isinstance(at, str) else f"{at:g}")
    return places


def _every_place(request: Request) -> LoggedCoordinates:
    """Return every place along the axes of all measurements."""
    audit = request.audit
    experiments = {name: audit.values_of(name, request.tier) for name in audit.experiments}
    at = (axis_places(audit.measurements_of(e).values(), own) for e, own in experiments.items())
    return NOWHERE.union(*at)


def _read_by_claims(request: Request) -> set[str]:
    """Return the measurements of which the claims that are asked for are made."""
    claims = request.scope.claims
    return {quantity.measurement for claim in claims for quantity in quantities_of(claim)}


def _sure_tags(wanted: Collection[str], tags: Sequence[str]) -> dict[str, str]:
    """Return the tag of each wanted measurement of which one alone fits, by its name."""
    of_arms = any("{arm}" in tag for tag in tags)
    seeded = [tag for tag in tags if "{seed}" in tag]  # beside which others sum up
    likely = seeded or tags
    fitting = {
        name: [tag for tag in likely if is_called(name, tag)]
        or [tag for tag in likely if words_of_name(name) <= words_of_name(tag)]
        or [tag for tag in likely if abbreviates(name, tag)]
        or [tag for tag in seeded if len(wanted) == 1]
        or [tag for tag in likely if (of_arms or len(wanted) == 1) and may_be(name, tag)]
        for name in sorted(wanted)
    }
    return {name: fits[0] for name, fits in fitting.items() if len(fits) == 1}


def _refuse_unlogged(request: Request, roles: Sequence[MeasuredRole], written: MappingFile) -> None:
    absent = _unmeasured(roles)
    ignored = sorted({tag for role in roles for tag in role.ignored})
    logged = {tag for role in roles for placed in role.runs.values() for tag in placed.run.curves}
    for name, quantity in request.mapping.mapping.items():
        if name in absent:
            called = written.mapping[name].tag
            missing = [called] if called else sorted(quantity.tags - logged)
            raise LogError(f"mapping: {name}", no_tag(missing or [quantity.formula], ignored))
    if not any(role.measured for role in roles):
        role = next((role for role in roles if role.withheld), roles[0])
        text = f"found no number of {some(absent)}; expected one."
        if role.withheld:
            name = next(iter(role.withheld))
            reasons = {each.words: "; ".join(each.withheld.get(name, ())) for each in roles}
            doubts = "; ".join(f"{name} of {words}: {why}" for words, why in reasons.items() if why)
            text = f"found nothing whole: {doubts}; expected whole curves."
        others = f" Nothing was made of the tags {some(ignored)}." if ignored else ""
        others += "".join(f" {line}" for line in off_axes_words(_off_axes(roles)))
        others += "".join(f" {line}" for line in _akin(request, roles))
        told = on_one_line(f"runs of {role.words}: {text}{others}", 5_000)  # with all ways on
        raise LogsError(told, [*dict.fromkeys(line for each in roles for line in each.offers)])


def _unmeasured(roles: Iterable[MeasuredRole]) -> list[str]:
    """Return the measurements of which no run of any role has a number."""
    there = {name for role in roles for name in (*role.measured, *role.withheld)}
    return sorted({name for role in roles for name in role.absent} - there)


def _akin(request: Request, roles: Sequence[MeasuredRole]) -> Iterator[str]:
    """Yield which tags may be what claims lack: those that share most words with its name."""
    lacking = [name for name in _unmeasured(roles) if name in _read_by_claims(request)]
    tags = sorted({tag for role in roles for tag in role.ignored})
    for tag in tags:
        nearest = [n for n in lacking if n != tag and kinship(n, [tag]) == kinship(n, tags)]
        names = [name for name in nearest if measures_alike(name, tag)]
        called = names[0] if len(names) == 1 else "NAME"
        if names:
            yield f"If '{tag}' is {' or '.join(names)}: `mapping: {{{called}: {flow(tag)}}}`."


def _off_axes(roles: Iterable[MeasuredRole]) -> Counter[tuple[str, str]]:
    return sum((role.off_axes for role in roles), Counter())


def _notes(
    mapping: MappingFile,
    roles: Sequence[MeasuredRole],
    ignored: Sequence[str],
    skipped: Sequence[tuple[str, str]],
) -> Iterator[str]:
    if ignored:
        yield f"Ignored, as the mapping says: {some(list(map(_within, ignored)))}."
    if skipped:
        yield f"Passed over among the logs: {'; '.join(by_reason(skipped))}."
    if mapping.complete is not None:
        yield f"Curves that may look cut are all that was logged: {mapping.complete.rstrip('.')}."
    yield from _remarks(roles)
    yield from _other_ends(roles, mapping)
    for role in roles:
        yield from role.lacking
    if mapping.vary:
        yield f"The runs differ in {some(mapping.vary)}, as the mapping lets them."
    if mapping.columns.step is not None:
        yield f"Steps were counted by '{mapping.columns.step}'."
    for name, quantity in mapping.mapping.items():
        if quantity.words != name:
            yield f"'{name}' was taken from the logs as {quantity.words}."


def _other_ends(roles: Sequence[MeasuredRole], mapping: MappingFile) -> Iterator[str]:
    """Yield how the last values of series are compared that do not end at the same step."""
    for name in dict.fromkeys(name for role in roles for name in role.measured):
        ends = [
            max(made.curve.all_steps)
            for role in roles
            for seed, made in role.measured.get(name, {}).items()
            if made.curve.all_steps and not role.runs[seed].diverged
        ]
        if ends and min(ends) < AS_FAR * max(ends):
            last = mapping.quantity(name).last
            yield (
                f"Series of '{name}' end at steps {min(ends)} to {max(ends)}. To compare their "
                f"last values, write `{name}: {{once: []}}` under the audit's `measurements`, and "
                f"`mapping: {{{name}: {last}}}` in a mapping."
            )


def _remarks(roles: Sequence[MeasuredRole]) -> Iterator[str]:
    """Yield what was read otherwise than it is written, once where that is so of all runs."""
    remarks: dict[str, dict[str, list[str]]] = {}
    for role in roles:
        for placed in role.runs.values():
            own = role.remarks.get(placed.seed or 0, ())
            for sentence in (*placed.run.remarks, *filter(None, [placed.run.early]), *own):
                seeds = remarks.setdefault(sentence, {}).setdefault(role.words, [])
                seeds.append(str(placed.seed))
    count = sum(len(role.runs) for role in roles)
    for sentence, by_role in remarks.items():
        if len(roles) > 1 and sum(map(len, by_role.values())) == count:
            yield f"All runs: {sentence}."
            continue
        for words, seeds in by_role.items():
            yield f"Seeds {some(seeds)} of {words}: {sentence}."


def _called(run: str, rows: Mapping[str, int]) -> str:
    """Return what tells a run from others: the part in parentheses, if no other has it."""
    matched = re.search(r"\(([^()]*)\)$", run)
    return matched[1] if matched and rows[matched[1]] < 2 else _within(run)


def _within(run: str) -> str:
    """Return a run's file and its folder: where that folder lies is nobody else's affair."""
    file, *row = run.partition(" (")
    return "/".join(PurePath(file).parts[-2:]) + "".join(row)


def _lines(request: Request, written: MappingFile, roles: Sequence[MeasuredRole]) -> Iterator[str]:
    for role in roles:
        which = role.words
        runs = [placed.run for placed in role.runs.values()]
        loggers = ", ".join(sorted({run.source for run in runs}))
        yield f"{which}, from {loggers}: seeds {', '.join(map(str, role.runs))}"
        for column in sorted({run.step for run in runs if run.step} - {"step"}):
            yield f"steps of {which} are those of the column '{column}'"
        for name, by_seed in role.measured.items():
            quantity = written.mapping.get(name)
            source = "" if quantity is None else f" = {quantity.words}"
            points = sorted(len(made.curve.all_steps) or 1 for made in by_seed.values())
            until = f" to {points[-1]}" if points[0] < points[-1] else ""
            noun = "point" if points[-1] == 1 else "points"
            yield f"  {name}{source}: {points[0]}{until} {noun} in each run"
        if role.absent:
            yield f"not logged by {which}: {', '.join(role.absent)}"
    for batch in request.scope.batches:
        if batch not in {role.batch for role in roles} and not is_named(request.audit):
            yield absence(request.audit, batch)
    every = [placed.run for role in roles for placed in role.runs.values()]
    unused = {
        name
        for run in every
        for name, words in run.columns.items()
        if words == NOT_USED and not (is_seed_name(name) or normal(name) in SEED_COUNTS)
    }
    if ignored := sorted(unused.union(*(role.ignored for role in roles))):
        yield f"ignored tags: {some(ignored, MOST_UNUSED)}"
    for role in roles:
        yield from left_out_words(role.words, role.withheld)
