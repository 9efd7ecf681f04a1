"""The mapping file: which logged quantity is which measurement, and which run is which.

Everything in it is optional. What it leaves out is found by name, or asked for in one line. A
formula is arithmetic over logged quantities (numbers, + - * / **, and first, last and mean of a
series), computed here; nothing in it is executed.
"""

from __future__ import annotations

import ast
import json
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from reproaudit.audit.loading import read_as
from reproaudit.audit.model import Audit, Text
from reproaudit.cell import SettingValue
from reproaudit.declarations import Name, StrictModel
from reproaudit.errors import SpecError
from reproaudit.logs.asked import Columns
from reproaudit.logs.logged import Curve
from reproaudit.logs.names import words_of_name
from reproaudit.logs.opening import parse_yaml

MAX_NODES = 400
FUNCTIONS: dict[str, Callable[[NDArray[np.float64]], np.float64 | NDArray[np.float64]]] = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "mean": lambda values: values.mean(),
    "max": lambda values: values.max(),
    "min": lambda values: values.min(),
    "cummax": np.maximum.accumulate,
    "cummin": np.minimum.accumulate,
}
"""Functions of a series: one number, or the largest or smallest so far at each step."""
_OPERATORS: dict[type[ast.AST], np.ufunc] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.UAdd: np.positive,
    ast.USub: np.negative,
}
_Day = date
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]


def _as_text(value: Any) -> Any:
    return str(value) if value is None or isinstance(value, bool | int | float) else value


def _in_words(value: str) -> str:
    if not re.search(r"\w", value):
        raise ValueError("say in words how it is known")
    return value


Attested = Annotated[Text, AfterValidator(_in_words)]


class LoggedQuantity(StrictModel):
    """The origin of a measurement: a tag, or an expression over tags. Text alone is a tag."""

    tag: Text | None = None
    """The logged tag or column; ``{layer}`` stands for the coordinate on the axis layer."""
    expression: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    """A formula over tags, such as ``train_loss - test_loss``."""
    let: dict[Name, Text] = Field(default_factory=dict)
    """Short names for tags, for the expression."""

    @model_validator(mode="before")
    @classmethod
    def _tag_alone(cls, value: Any) -> Any:
        return {"tag": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one(self) -> LoggedQuantity:
        if (self.tag is None) == (self.expression is None):
            raise ValueError("state a tag or an expression, one of the two")
        return self

    @property
    def templates(self) -> frozenset[str]:
        """The tags that it is made of, with the names of axes in the place of coordinates."""
        names = {*re.findall(r"[^\W\d]\w*", self.expression or "")} - FUNCTIONS.keys()
        return frozenset({self.tag} if self.tag else {self.let.get(name, name) for name in names})

    @property
    def tags(self) -> frozenset[str]:
        """The tags that it is made of, with ``*`` in the place of coordinates."""
        return frozenset(re.sub(r"\{[a-z][a-z0-9_]*\}", "*", tag) for tag in self.templates)

    @property
    def is_of_end(self) -> bool:
        """Whether it makes of a series what depends on how far this goes."""
        return not {"last", "mean", "max", "min"}.isdisjoint(
            re.findall(r"\w+", self.expression or "")
        )

    @property
    def computes(self) -> bool:
        """Whether it is arithmetic, not a number as it was logged or one of a series."""
        return re.fullmatch(r"\w+(\(\w+\))?", self.expression or "v") is None

    @property
    def formula(self) -> str:
        """The tag or the expression."""
        return self.tag or self.expression or ""

    @property
    def words(self) -> str:
        """The tag or formula, with the meaning of each short name."""
        where = "; ".join(f"{name} is '{tag}'" for name, tag in self.let.items())
        return ", where ".join(filter(None, [self.formula, where]))

    @property
    def last(self) -> str:
        """How a mapping says that its last value is meant."""
        if self.tag is not None:
            return f'{{expression: last(v), let: {{v: "{self.tag}"}}}}'
        return flow({"expression": f"last({self.expression})", "let": self.let})


def pattern_of(run: str, every: Sequence[str]) -> str:
    """Return how a rule's `match` names a run, and no other of `every` name, in quotes."""
    parts = run.split("/")
    for depth in range(2, len(parts)):
        pattern = f"*{escape('/'.join(parts[-depth:]))}"
        if [name for name in every if fnmatchcase(name, pattern)] == [run]:
            return json.dumps(pattern, ensure_ascii=False)
    return json.dumps(escape(run), ensure_ascii=False)


def arms_line(names: Sequence[str], others: Sequence[str]) -> str:
    """Return the line that says what arms are called in logs, NAME where that is not clear.

    A name of the logs with all words of an arm's alone may be this arm's.
    """
    fits = {name: [o for o in others if words_of_name(name) <= words_of_name(o)] for name in names}
    if len(names) == len(others) == 1:
        fits = {names[0]: [*others]}
    every = [other for fit in fits.values() for other in fit]
    sure = {name: fit[0] for name, fit in fits.items() if [*map(every.count, fit)] == [1]}
    return f"arms: {flow({name: sure.get(name, 'NAME') for name in names})}"


class RunRule(StrictModel):
    """A rule for the runs whose names match: their experiment, control and seed."""

    match: Text
    """A run's name, with * for any characters."""
    experiment: Name | None = None
    """The experiment of the audit, where it has several."""
    settings: dict[Name, SettingValue] | None = None
    """The settings that the audit gives a control; {} for the experiment itself."""
    seed: Seed | None = None
    """The seed, where neither the run nor its name states it."""
    status: Literal["completed", "diverged", "crashed"] = "completed"
    """A diverged run may hold numbers that are not finite, and may have ended early; one that
    crashed, or was cut short, is left out."""
    percent: tuple[Name, ...] = ()
    """Measurements that these runs logged in per cent; they are divided by 100."""
    arm: Text | None = None
    """The arm, by its name in the audit, in place of its settings."""
    ignore: bool = False
    """True to leave these runs out."""

    def matches(self, run: str) -> bool:
        """Return True for a run that is called so, or of whose name a part is.

        That is the last one if there is no slash, and a text in parentheses: `seed_3`, too.
        """
        file, _, told = run.removesuffix(")").partition(" (")
        names = [run, f"{file} ({told.replace(' ', '_')})", *told.split(", ")]
        names += [] if "/" in self.match else [run.rpartition("/")[2]]
        return self.match in names or any(fnmatchcase(name, self.match) for name in names)

    @property
    def is_of_run(self) -> bool:
        """Whether it states what is of a run alone, and leaves its role to another rule."""
        stated = self.model_fields_set - {"match"}
        return bool(stated) and stated <= {"seed", "status", "percent"}


class MappingFile(StrictModel):
    """How logs and results are read: a mapping file, or `files` in the audit."""

    who: Text | None = None
    """Who made the runs, or hands them in."""
    source: Text | None = None
    """Where the runs are from: a repository, a path, a report."""
    framework: Text | None = None
    """The framework of the runs, with its version."""
    date: _Day | None = None
    """The day of the runs, YYYY-MM-DD; left out, that of the youngest file."""
    tier: Literal["quick", "paper"] | None = None
    """The scale of the runs; left out, the paper's."""
    proxy: Text | None = None
    """What stands in for what the paper used."""
    arms: dict[Text, Annotated[Text, BeforeValidator(_as_text)]] = Field(default_factory=dict)
    """Arm of the audit -> its name in the logs, where that is another, be it null or a number."""
    names: Text | None = None
    """Where it stands in the files' names what tells runs apart: ``{arm}/seed{seed}_step{step}``;
    a setting's name may stand in braces, too, ``{tag}`` for a tag, and * for any characters."""
    columns: Columns = Columns()
    """The roles of columns, where their names do not say them."""
    number: tuple[Literal["seeds", "steps"], ...] = ()
    """What the logs leave out and is counted from 0, in the order of names, rows or time."""
    overlap: Literal["earlier", "later"] | None = None
    """Which points hold where a curve goes back to an earlier step, as after a restart."""
    mapping: dict[Name, LoggedQuantity] = Field(default_factory=dict)
    """Measurement -> where it comes from; a tag alone may be written as plain text."""
    configuration: dict[Name, Text | None] = Field(default_factory=dict)
    """Setting of the audit -> its name in the runs' configurations; null if it is not in them."""
    runs: tuple[RunRule, ...] = ()
    """The rules for runs; the first that matches a run holds. A rule with only a seed, a status or
    what is in per cent adds these to it."""
    vary: tuple[Text, ...] = ()
    """Values of configurations that may differ between the runs of one experiment."""
    one_unit: Attested | None = None
    """Why what seems to be a share of 1 in one place, and per cent in another, is in one unit."""
    complete: Attested | None = None
    """Why curves with gaps, or of different lengths, are known to be all that was logged."""

    def quantity(self, measurement: str) -> LoggedQuantity:
        """Return where a measurement comes from: a tag of its name, unless it is said."""
        return self.mapping.get(measurement) or LoggedQuantity(tag=measurement)

    def rule(self, run: str) -> RunRule | None:
        """Return the rule for a run of this name, with what rules of the run alone add to it."""
        matching = [rule for rule in self.runs if rule.matches(run)]
        of_role = [rule for rule in matching if not rule.is_of_run][:1]
        stated: dict[str, Any] = {}
        for rule in matching:
            if rule.is_of_run or rule in of_role:
                stated = {**rule.model_dump(include=rule.model_fields_set), **stated}
        return RunRule(**stated) if matching else None

    def with_lines(self, lines: Iterable[str]) -> MappingFile:
        """Return the mapping with further lines, which are joined to those of the same field."""
        fields = self.model_dump(exclude_unset=True)
        for line in lines:
            _join(fields, parse_yaml(line, "a mapping"))
        return MappingFile.model_validate_json(json.dumps(fields, default=str))

    def lines(self, other: MappingFile) -> list[str]:
        """Return the lines for the fields in which it differs from the other."""
        fields = self.model_dump(exclude_unset=True)
        known = other.model_dump(exclude_unset=True)
        return [f"{name}: {flow(own)}" for name, own in fields.items() if known.get(name) != own]

    def places(self, run: str) -> bool:
        """Return True if the rule for a run of this name says its arm, or its settings."""
        rule = self.rule(run)
        return rule is not None and not (rule.arm is None and rule.settings is None)

    def ignores(self, run: str) -> bool:
        """Return True if the rule for a run of this name leaves it out."""
        rule = self.rule(run)
        return rule is not None and rule.ignore


def _join(fields: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add fields to others, in place: lists are joined, and names are added."""
    for name, value in more.items():
        known = fields.get(name)
        if isinstance(known, dict) and isinstance(value, dict):
            fields[name] = {**known, **value}
        elif isinstance(known, list | tuple) and isinstance(value, list):
            fields[name] = [*known, *(each for each in value if each not in known)]
        else:
            fields[name] = value


def flow(value: Any) -> str:
    """Return a value as a line of YAML holds it: a plain word as it is, other text in quotes."""
    if isinstance(value, dict) and [*value] == ["tag"]:
        return flow(value["tag"])
    if isinstance(value, dict):
        return f"{{{', '.join(f'{flow(name)}: {flow(own)}' for name, own in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(flow, value))}]"
    is_plain = isinstance(value, str) and re.fullmatch(r"[A-Za-z_]\w{2,}(\(\w+\))?", value)
    is_word = str(value).lower() in ("null", "true", "false", "yes", "off")
    return str(value) if is_plain and not is_word else json.dumps(value, default=str)


def mapping_of(audit: Audit, file: Path | None) -> MappingFile:
    """Return how logs are read: as a mapping file says, and for the rest as the audit does.

    A SpecError lists all that is wrong with either.
    """
    own = MappingFile() if file is None else _read(file, "a mapping file")
    if audit.files is None:
        return own
    text = json.dumps(audit.files, default=str)
    stated = _read(f"{audit.paper.slug}.yaml, files", "a mapping", text)
    return stated.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})


def _read(file: Path | str, noun: str, text: str | None = None) -> MappingFile:
    mapping, _, faults = read_as(MappingFile, file, noun, text=text)
    if mapping is None:
        raise SpecError("\n".join(map(str, faults)))
    return mapping


class ExpressionError(ValueError):
    """A formula outside the grammar, or one whose parts do not fit together."""


def evaluate(formula: str, lookup: Callable[[str], Curve]) -> Curve:
    """Compute a formula; its value has steps unless it is a single number.

    An ExpressionError says what is no arithmetic, or that the steps of two series differ.
    """
    if (plain := unicodedata.normalize("NFKC", formula)) != formula:
        odd = next((character for character in formula if character not in plain), formula)
        raise ExpressionError(f"the character {odd!r}, which Python would read as another")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"no formula ({getattr(error, 'msg', None) or error})") from None
    if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
        raise ExpressionError(f"a formula of more than {MAX_NODES} parts")
    with np.errstate(all="ignore"):
        return _value(tree, lookup)


def check_expression(formula: str) -> None:
    """Raise an ExpressionError if a formula is outside the grammar."""
    evaluate(formula, lambda _: Curve("", None, np.ones(())))


def _made_of(series: NDArray[np.float64], function: str) -> NDArray[np.float64]:
    """Return what a function makes of a series from its first finite number on.

    What was not finite before it, as where nothing was evaluated yet, stays in front of a series.
    """
    start = int(np.isfinite(series).argmax())
    made = np.asarray(FUNCTIONS[function](series[start:]))
    return np.concatenate([series[:start], made]) if made.ndim else made


def _value(node: ast.expr, lookup: Callable[[str], Curve]) -> Curve:
    match node:
        case ast.Name(id=name):
            return lookup(name)
        case ast.Constant(value=value) if type(value) in (int, float) and abs(value) < 1e308:  # type: ignore[arg-type]
            return Curve("", None, np.array(value, dtype=np.float64))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            parts = [_value(operand, lookup)]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            parts = [_value(left, lookup), _value(right, lookup)]
        case ast.Call(func=ast.Name(id=name), args=[series], keywords=[]) if name in FUNCTIONS:
            part = _value(series, lookup)
            values = part.values if part.steps is None else _made_of(part.values, name)
            return Curve("", part.steps if values.ndim else None, values)
        case _:
            refused = type(getattr(node, "op", node)).__name__
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                refused = f"the function '{node.func.id}'"
            allowed = f"names, + - * / ** and {', '.join(FUNCTIONS)} of one series"
            text = f"{refused} in a formula; allowed are numbers below 1e308, {allowed}"
            raise ExpressionError(text)
    stepped = [part.steps for part in parts if part.steps is not None]
    if not all(np.array_equal(stepped[0], steps) for steps in stepped):
        odd = np.setxor1d(stepped[0], stepped[-1])
        text = f"series of {len(stepped[0])} and {len(stepped[-1])} steps in one formula; step"
        raise ExpressionError(f"{text} {odd[0] if odd.size else '?'} is in one only")
    values = _OPERATORS[type(op)](*(part.values for part in parts))
    return Curve("", stepped[0] if stepped else None, np.asarray(values))
