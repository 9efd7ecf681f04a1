"""The rule of an audit as plain data: everything that decides its verdicts or computes a number.

The data are flat: one value for each path, such as ``claims/toy.depth/checks/loss/at_most``. So two
rules can be compared path by path, and a seal keeps only what changed. Wording (reasons, titles,
locators) is no part of the rule; it has a hash of its own. Where it decides that a reason is given
at all, the rule holds that it is there, and not its words. How an audit is laid out is no part of
the rule either: a shared control stands in every claim that names it, and a shared measurement in
every experiment that makes it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from reproaudit.audit.catalog import PACKAGE, Entry
from reproaudit.audit.model import REASONS_THAT_COUNT, Audit
from reproaudit.errors import SpecError
from reproaudit.running.code_hash import CodeClosure, closure_of, code_closure

RuleValue = bool | int | float | str | list[Any]
RuleData = dict[str, RuleValue]
"""Everything that decides or computes, by path."""

CODE, STREAM, JUDGING = "code", "stream", "judging"
"""Paths of the hashes of code: of the paper's module, of the random stream, of what judges."""

ORDER = "order of parts"
"""The last step of the path of a claim's part names in order; the first one is its primary part."""

DECIDING = ("confidence", "seeds", "settings", "movement", "experiments", "claims")
"""The parts of an audit that hold the rule."""

DECIDING_ROOMS = (
    "stats",
    "checks",
    "judging",
    "multiverse",
    "commands/confirmed",
    "seals/confirming",
    "seals/past",
    "seals/standing",
    "scorecard/build",
    "scorecard/from_store",
)
"""The rooms and modules of our own code that turn records into verdicts and grant confirmations."""

KEEPING = (
    "reproaudit.audit.card",
    "reproaudit.audit.checklist",
    "reproaudit.audit.documentation",
    "reproaudit.audit.draft",
    "reproaudit.audit.loading",
    "reproaudit.folders",
    "reproaudit.elsewhere",
    "reproaudit.running.code_hash",
    "reproaudit.running.files",
    "reproaudit.running.fingerprint",
    "reproaudit.running.manifest",
    "reproaudit.running.memo",
    "reproaudit.running.partial",
    "reproaudit.running.store",
)
"""Modules that those rooms use and that decide nothing.

They read audits, and keep and hand over records, each of which is held against its own digest; or
they read others' measurements, which no seal is about.
"""

WORDING = frozenset(
    {
        "locator",
        "meaning",
        "not_constructible",
        "reason",
        "title",
        "unit",
        "weight",
        "why",
    }
)
"""Fields that word something, or weigh claims against each other, and decide no verdict.

What a control gives as a reason that counts (`REASONS_THAT_COUNT`) is wording, too; the rule says
that it is there.
"""

OTHERS_WORDS = frozenset({"variables", "responses", "disputes", "sign_offs"})
"""Parts of an audit in which reviewers and others speak; no seal is about them."""

NAMING = frozenset({"settings", "experiments", "measurements", "controls", "substitutes", "at"})
"""Fields whose keys are names that an audit's author chose."""

MOST_LEAVES = 200_000


def canonical(value: Any) -> bytes:
    """Plain data as one line of JSON that is equal for equal data."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def digest(value: Any) -> str:
    """The SHA-256 of plain data, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical(value)).hexdigest()


# --- an audit as paths and values ---------------------------------------------------------------


def rule_and_text(audit: Mapping[str, Any]) -> tuple[RuleData, RuleData]:
    """Splits an audit's plain data into what decides and how it is worded, each by path.

    Args:
        audit: an audit as YAML has it or as the model dumps it; of an older form as well.

    Raises:
        SpecError: if it has more values than any audit.
    """
    whole = _laid_out(audit)
    rule: RuleData = {}
    text: RuleData = {}
    for name, part in whole.items():
        if name in OTHERS_WORDS:
            continue
        for path, leaf, worded in _leaves(part, (str(name),), named=name in NAMING):
            (text if worded or name not in DECIDING else rule)["/".join(path)] = leaf
            if len(rule) + len(text) > MOST_LEAVES:
                raise SpecError(f"found more than {MOST_LEAVES} values; expected an audit")
    return rule, text


def _laid_out(audit: Mapping[str, Any]) -> dict[str, Any]:
    """An audit with shared controls and measurements written where they are used."""
    whole = dict(audit)
    controls = _mapping(whole.pop("controls", None))
    shared = _mapping(whole.pop("measurements", None))
    whole["claims"] = [
        _with_controls(one, controls) for one in _items(whole.get("claims")) if _mapping(one)
    ]
    experiments = {}
    for name, one in _mapping(whole.get("experiments")).items():
        measures = _mapping(one).get("measures")
        names = shared if measures is None else _items(measures)
        made = {name: one for name, one in shared.items() if name in names}
        own = {**made, **_mapping(_mapping(one).get("measurements"))}
        experiments[name] = {**_mapping(one), "measurements": own, "measures": None}
    whole["experiments"] = experiments
    return whole


def _with_controls(claim: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    def written(one: Any) -> Any:
        found = {**_mapping(shared.get(one)), "name": one} if isinstance(one, str) else one
        if not _mapping(found) or "not_constructible" in found:
            return found
        return {**found, "experiment": found.get("experiment") or claim.get("experiment")}

    controls = [written(one) for one in _items(claim.get("controls"))]
    positive = written(claim.get("positive_control"))
    if _mapping(positive):
        positive = {"none": True} if "not_constructible" in positive else positive
        positive = {name: value for name, value in positive.items() if name != "name"}
    return {**claim, "controls": controls, "positive_control": positive}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _leaves(
    node: Any, path: tuple[str, ...], *, named: bool, worded: bool = False
) -> Iterator[tuple[tuple[str, ...], RuleValue, bool]]:
    """Yields path, value and whether it is wording; what is absent or empty is left out."""
    if isinstance(node, Mapping):
        for key, below in node.items():
            name = str(key)
            place = (*path, name.replace("~", "~0").replace("/", "~1"))
            counts = name in REASONS_THAT_COUNT and not named and not worded
            if counts and below:
                yield place, True, False
            yield from _leaves(
                below,
                place,
                named=name in NAMING and not named,
                worded=worded or counts or (name in WORDING and not named),
            )
    elif isinstance(node, list | tuple) and any(isinstance(one, Mapping) for one in node):
        labels = _labels(node)
        if path[-1] == "checks":  # the first check is the primary part
            yield (*path[:-1], ORDER), labels, worded
        for label, one in zip(labels, node, strict=True):
            if isinstance(one, Mapping):
                one = {k: v for k, v in one.items() if k not in ("id", "name") or v != label}
            yield from _leaves(one, (*path, label), named=False, worded=worded)
    elif isinstance(node, list | tuple):
        if node:
            yield path, json.loads(json.dumps(node, default=str)), worded
    elif isinstance(node, bool | int | float | str):
        yield path, node, worded
    elif node is not None:
        yield path, str(node), worded  # a date of YAML


def _labels(several: Sequence[Any]) -> list[str]:
    """A label for each item of a list, each another: its id or name, else its number."""
    labels: list[str] = []
    for number, one in enumerate(several, start=1):
        found = _mapping(one).get("id") or _mapping(one).get("name")
        label = str(found if isinstance(found, str) else number)
        label = label.replace("~", "~0").replace("/", "~1")
        while label in labels:
            label = f"{label} {number}"
        labels.append(label)
    return labels


# --- today's rule -------------------------------------------------------------------------------


def rule_of(entry: Entry, audit: Audit) -> tuple[RuleData, str]:
    """Today's rule of an audit, with the code that computes and judges, and its text's hash.

    Raises:
        SpecError: if the paper's module is missing, unreadable or not valid Python.
    """
    rule, text = rule_and_text(audit.model_dump(mode="json"))
    if entry.code is not None:
        rule[CODE] = closure_of(entry.code).digest
    for name, closures in _package_code(PACKAGE).items():
        rule[name] = hash_of_code(name, closures)
    return rule, digest(text)


def code_of_package(package: Path) -> dict[str, dict[str, CodeClosure]]:
    """The code of ours that decides, by its path in a rule: the random stream, and what judges.

    Args:
        package: our package, of today or of an older commit, which may lack some of it.

    Raises:
        SpecError: if a module is not valid Python.
    """
    places = {STREAM: ["lab/seeds"], JUDGING: DECIDING_ROOMS}
    found: dict[str, dict[str, CodeClosure]] = {}
    for name, several in places.items():
        for place in several:
            folder = package / place
            file = folder if folder.is_dir() else folder.with_name(f"{folder.name}.py")
            if file.exists():
                found.setdefault(name, {})[place] = code_closure(file, (), KEEPING)
    return found


_package_code = cache(code_of_package)


def hash_of_code(name: str, closures: Mapping[str, CodeClosure]) -> str:
    """The value of a rule's path for code of ours."""
    digests = {place: one.digest for place, one in closures.items()}
    return digest(digests) if name == JUDGING else next(iter(digests.values()))


def judged_by(rule: Mapping[str, RuleValue]) -> str:
    """The hash of what judges records: the rule without the code that computes them."""
    return digest({path: leaf for path, leaf in rule.items() if path not in (CODE, STREAM)})
