"""The file ``<slug>.run.yaml``: its models, and how it is read and held against its audit.

A command's placeholders are ``{seed}``, and ``{name}`` for a setting. No shell, no code.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from reproaudit import logs
from reproaudit.audit import RUN_FILE
from reproaudit.audit.faults import Fault, Loc, Violation, shown
from reproaudit.audit.loading import read_as, read_audit
from reproaudit.audit.model import TIERS, Audit
from reproaudit.cell import SettingValue, same
from reproaudit.declarations import Declaration, Name, OneComplaint, StrictModel
from reproaudit.errors import SpecError
from reproaudit.logs.mapping import ExpressionError, LoggedQuantity, check_expression
from reproaudit.repositories.requirements import text_at_hand, unpinned

_MOST_LINES = 6  # Lines of a file of requirements that one fault names
SEED = "seed"  # The placeholder that stands for the seed

_PIECE = re.compile(r"\{\{|\}\}|\{([a-z][a-z0-9_]*)\}|[{}]")


def placeholders(text: str) -> tuple[str, ...]:
    """Return the names in braces, in order; a brace without its like is a ValueError in words."""
    pieces = list(_PIECE.finditer(text))
    if any(piece.group() in ("{", "}") for piece in pieces):
        raise ValueError(
            f"found '{text[:60]}' with an unmatched brace; expected {{seed}}, a setting's name in "
            "braces, or '{{' and '}}' for the braces themselves"
        )
    return tuple(piece[1] for piece in pieces if piece[1])


def filled(
    text: str, values: Mapping[str, SettingValue], spelled: Mapping[str, Mapping[str, str | None]]
) -> str | None:
    """Return the text with its placeholders filled in; None if it is one that stands for nothing.

    ``spelled`` maps a setting's value, as text, to what the command takes instead; None is nothing.
    """
    plain = {name: _as_text(values[name]) for name in placeholders(text)}
    words = {name: spelled.get(name, {}).get(text, text) for name, text in plain.items()}
    if None in words.values():
        return None
    return _PIECE.sub(lambda piece: str(words[piece[1]]) if piece[1] else piece[0][0], text)


def _as_text(value: SettingValue) -> str:
    if isinstance(value, tuple | list):
        return ",".join(map(_as_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _with_placeholders(text: str) -> str:
    placeholders(text)
    return text


def _inside(text: str) -> str:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or "\\" in text or re.match("[A-Za-z]:", text):
        raise ValueError(f"found '{text[:60]}'; expected a path within the source, without '..'")
    return text


def _matching(pattern: str, words: str) -> AfterValidator:
    """Return a validator that refuses text of another pattern, in words."""

    def hold(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"found '{text[:80]}'; expected {words}")
        return text

    return AfterValidator(hold)


def _quoted(value: object) -> object:
    """Refuse a version that YAML has read as a number: 3.10 is 3.1 to it."""
    if isinstance(value, float):
        raise ValueError(
            'expected text in quotes, such as "3.10": as a number it loses its last zero'
        )
    return value


_Argument = Annotated[str, Field(max_length=4000), AfterValidator(_with_placeholders)]
_Path = Annotated[str, Field(min_length=1, max_length=400), AfterValidator(_inside)]
_Address = Annotated[str, _matching("(?!-)((?!::).){1,2000}", "an address or a path")]
_Commit = Annotated[
    str, _matching("[0-9a-f]{40}", "the whole id of a commit, 40 hexadecimal digits")
]
_IMAGE = r"[a-z0-9][A-Za-z0-9._:/-]*@sha256:[0-9a-f]{64}"
_Image = Annotated[str, _matching(_IMAGE, "an image by its digest, NAME@sha256:…")]
_Version = Annotated[
    str, _matching(r"3\.\d{1,2}", 'a version of Python, such as "3.11"'), BeforeValidator(_quoted)
]
_Variable = Annotated[str, _matching("[A-Z][A-Z0-9_]*", "a name in capitals")]


class PinnedSource(StrictModel):
    """The pinned source: a git repository at a revision."""

    git: _Address
    """The repository's address, or its path from this file's folder."""
    revision: _Commit
    """The whole id of the commit, 40 hexadecimal digits. A branch or a tag can move."""

    def address(self, beside: Path) -> str:
        """Return the address; a path is whole, and starts from a folder."""
        if re.match(r"[a-z][a-z0-9+.-]*://|[^/]+:", self.git):
            return self.git
        return str((beside / Path(self.git).expanduser()).resolve())

    @property
    def pin(self) -> str:
        """The identity of the source, wherever it lies."""
        return f"git {self.revision}"


class PythonEnvironment(StrictModel):
    """The Python of the command. Without any field: one with nothing installed."""

    requirements: _Path | None = None
    """A file of the source that pins every package, as `pip freeze` writes it."""
    python: _Version | None = None
    """The Python to run, such as "3.11"; by default the one that runs reproaudit."""
    builds: bool = False
    """Whether packages without a wheel are built, by code of theirs."""
    image: _Image | None = None
    """Instead of all that, a container image by its digest, NAME@sha256:…, which Docker or Podman
    runs with the network off."""

    @model_validator(mode="after")
    def _one(self) -> PythonEnvironment:
        if self.image is not None and len(self.model_fields_set) > 1:
            raise ValueError("an image holds its Python and packages; state it alone")
        return self


class CommandExperiment(StrictModel):
    """One experiment: its command, the files that this writes, and what they measure."""

    command: tuple[_Argument, ...] = Field(min_length=1)
    """The program and its arguments, with `{seed}` and `{setting}`. There is no shell."""
    timeout: float = Field(gt=0, le=30 * 86400)
    """The number of seconds that one call may take."""
    files: tuple[Annotated[_Path, AfterValidator(_with_placeholders)], ...] = Field(min_length=1)
    """The logs that it writes: files or folders of any kind that `reproaudit import` reads."""
    folder: _Path = "."
    """The folder of the source in which it is called, and which `files` start from."""
    fixed: dict[Name, SettingValue] = Field(default_factory=dict)
    """Settings that are built into the code, with their values: other values are refused."""
    spelled: dict[Name, dict[str, str | None]] = Field(default_factory=dict)
    """Setting -> its value -> the text that the command takes instead; null for no argument."""
    variables: dict[_Variable, str] = Field(default_factory=dict)
    """Environment variables of the command, beside the few that every command has."""
    mapping: dict[Name, LoggedQuantity] = Field(default_factory=dict)
    """Measurement -> the tag or expression that gives it; without an entry, the tag of its name."""
    step: Annotated[str, Field(min_length=1)] | None = None
    """The column or tag that counts the steps, where it is not the usual one."""
    complete: Annotated[str, Field(min_length=1)] | None = None
    """Why curves with gaps are known to be all that was logged."""


class RunFile(StrictModel):
    """A file ``<slug>.run.yaml``."""

    schema_version: Annotated[Literal[1], OneComplaint("1")]
    """1, the version of this file's form."""
    source: PinnedSource
    """The origin of the code, pinned."""
    environment: PythonEnvironment = Field(default_factory=PythonEnvironment)
    """The environment in which the command runs."""
    experiments: dict[Name, CommandExperiment] = Field(min_length=1)
    """Experiment of the audit -> how it is run."""


def load_run_file(path: Path) -> tuple[RunFile, Audit]:
    """Return a run file and the audit beside it, or raise a SpecError that lists all its faults."""
    run_file, audit, faults = _read(path)
    if run_file is None or audit is None:
        raise SpecError("\n".join(map(str, faults)))
    return run_file, audit


def check_run_file(path: Path) -> list[Fault]:
    """Return every fault of a run file, by place; no error if it can be run."""
    return _read(path)[2]


def run_file_digest(path: Path) -> str:
    """Return the digest of all that a run file computes with, as 32 hexadecimal digits.

    Addresses, time-outs and comments change no number.
    """
    run_file, audit = load_run_file(path)
    whole = run_file.model_dump(
        mode="json", exclude={"source": True, "experiments": {"__all__": {"timeout"}}}
    )
    declared = {
        name: {
            key: declaration.model_dump(mode="json", include={"kind", "axes"})
            for key, declaration in audit.measurements_of(name).items()
        }
        for name in run_file.experiments
    }
    ours = [
        hashlib.sha256(file.read_bytes()).hexdigest()
        for folder in (Path(logs.__file__).parent, Path(__file__).parent)
        for file in sorted(folder.glob("*.py"))
    ]
    parts = [run_file.source.pin, whole, declared, ours]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def described(path: Path) -> str:
    """Return the commands that a run file will execute, on one line."""
    run_file, _ = load_run_file(path)
    commands = {" ".join(experiment.command) for experiment in run_file.experiments.values()}
    packages = run_file.environment.image or run_file.environment.requirements
    where = f" in {packages}" if packages else ""
    if run_file.environment.builds:
        where += ", whose packages may build themselves"
    source = f"{run_file.source.git} ({run_file.source.pin[:19]}…)"
    return f"{'; '.join(sorted(commands))}{where}, from {source}"


def _read(path: Path) -> tuple[RunFile | None, Audit | None, list[Fault]]:
    stem = path.with_name(path.name.removesuffix(RUN_FILE))
    audit_file = stem.with_name(f"{stem.name}.yaml")
    audit, audit_faults = read_audit(audit_file)

    def rules(run_file: RunFile) -> Iterator[Violation]:
        if audit is None:
            message = f"found {len(audit_faults)} faults in {audit_file}; expected an audit"
            yield Violation("RA088", (), message)
            return
        for other in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py"):
            if other.is_file():
                message = f"found {other}, too; expected one way to run this paper"
                yield Violation("RA087", (), message)
        for name, experiment in run_file.experiments.items():
            yield from _faults(name, experiment, audit)
        yield from _faults_of_requirements(run_file, path.parent)

    run_file, _, faults = read_as(RunFile, path, "a run file", rules)
    return run_file, audit, faults


def _faults_of_requirements(run_file: RunFile, beside: Path) -> Iterator[Violation]:
    """Yield what leaves open what is installed, or that nobody can tell yet."""
    environment = run_file.environment
    if environment.requirements is None:
        return
    name = environment.requirements
    address = run_file.source.address(beside)
    text = text_at_hand(address, run_file.source.revision, name)
    if text is None and not Path(address).is_absolute():
        message = f"found {name} of a source that is not on this machine; it is checked when 'run' "
        message += "has fetched it, before anything is installed"
        yield Violation("RA235", ("environment", "requirements"), message)
    if faults := list(unpinned(name, text or "", environment.builds)):
        more = f" And {len(faults) - _MOST_LINES} more lines" if len(faults) > _MOST_LINES else ""
        message = " ".join(faults[:_MOST_LINES]).rstrip(".") + more
        yield Violation("RA089", ("environment", "requirements"), message)


def _faults(name: str, experiment: CommandExperiment, audit: Audit) -> Iterator[Violation]:
    here: Loc = ("experiments", name)
    if name not in audit.experiments:
        message = f"found '{name}'; expected an experiment of the audit"
        yield Violation("RA081", here, message, "", name, audit.experiments)
        return
    values = {
        setting: [value.at(tier) for tier in TIERS]
        for setting, value in audit.settings_of(name).items()
    }
    passed = {name for text in experiment.command for name in placeholders(text)}
    for field in ("command", "files"):
        for index, text in enumerate(getattr(experiment, field)):
            for unknown in sorted({*placeholders(text)} - {SEED, *values}):
                message = f"found {{{unknown}}}; expected {{seed}} or a setting of the experiment"
                known = {SEED, *values}
                yield Violation("RA083", (*here, field, index), message, "", unknown, known)
    for field in ("fixed", "spelled"):
        for unknown in sorted(getattr(experiment, field).keys() - values):
            message = f"found '{unknown}'; expected a setting of the experiment"
            yield Violation("RA083", (*here, field, unknown), message, "", unknown, values)
    if SEED not in passed:
        message = "found no {seed}; expected one, or all runs would be the same"
        remedy = "Pass the seed to the command."
        yield Violation("RA082", (*here, "command"), message, remedy)
    for unknown in values.keys() - passed - experiment.fixed.keys():
        message = f"found neither {{{unknown}}} in it nor '{unknown}' under 'fixed'; expected one"
        yield Violation("RA082", (*here, "command"), message)
    for unknown, value in experiment.fixed.items():
        if not any(same(value, wanted) for wanted in values.get(unknown, [value])):
            listed = ", ".join(dict.fromkeys(map(shown, values[unknown])))
            message = f"found {shown(value)}; expected {listed}, as the audit says"
            yield Violation("RA084", (*here, "fixed", unknown), message)
    declared = audit.measurements_of(name)
    for measurement, quantity in experiment.mapping.items():
        loc = (*here, "mapping", measurement)
        if measurement in declared:
            yield from _faults_of_quantity(loc, quantity, declared[measurement])
        else:
            message = f"found '{measurement}'; expected a measurement of '{name}'"
            yield Violation("RA085", loc, message, "", measurement, declared)


def _faults_of_quantity(
    loc: Loc, quantity: LoggedQuantity, declaration: Declaration
) -> Iterator[Violation]:
    axes = {axis.name for axis in declaration.axes}
    for tag in (quantity.tag or "", *quantity.let.values()):
        for axis in re.findall(r"\{([a-z][a-z0-9_]*)\}", tag):
            if axis not in axes:
                message = f"found the axis {{{axis}}}; expected an axis of '{loc[-1]}'"
                yield Violation("RA085", loc, message, "", axis, axes)
    try:
        check_expression(quantity.expression or "0")
    except ExpressionError as error:
        message = f"found {str(error).rstrip('.')}; expected a formula"
        yield Violation("RA086", (*loc, "expression"), message)
