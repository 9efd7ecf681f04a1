"""Drafts a paper's files from what is known: its card and checklist, its claims, its results.

A draft holds what they say, and `TODO` for everything else. `reproaudit check` lists each TODO
with its place. A TODO in place of a number, a date or a decision refuses the audit, so that no
guess of the draft can ever be judged. Quotations on the card are left out: evidence is told in the
reviewer's own words.

Every text of a file is written as one double-quoted YAML scalar, and none enters the Python file,
so that none can add structure or code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import islice, product
from pathlib import Path
from typing import Any

from reproaudit.audit.card import Card
from reproaudit.audit.document import UNREADABLE, read_plain
from reproaudit.audit.model import VariableName
from reproaudit.audit.stated import StatedClaim

TODO = "TODO"
WIDEST = 100  # Columns of a line that need not be broken
MOST_IN_FULL = 8
"""Claims up to which each has four or five lines; further ones make it one line for each."""

_HEAD = (
    "# yaml-language-server: $schema=schema.json",
    "# Replace every TODO; `reproaudit check` lists them. Quote a text that has a comma.",
    "schema_version: 3",
)
_EXPERIMENT = """\
experiments:
  main:
    title: TODO
    settings:
      - {from: derived, at: what is audited, values: {mechanism: present}}
    measurements:
      outcome: {once: [], says: TODO}
    must_fail: [without_mechanism]
arms:
  without_mechanism: {settings: {mechanism: absent}, says: TODO}
claims:
  main:
    says: TODO
    at: TODO
    holds_if: [{kind: reaches, value: outcome, at_least: TODO, from: TODO}]
"""


@dataclass(frozen=True)
class Results:
    """What was seen in somebody's results.

    Attributes:
        method: the arm that the claims seem to be about; empty if nothing tells arms apart.
        arms: the other arms.
        measurements: the names of what was measured, the likeliest main one first.
        series: those that are observed over training, with what they are called in the files.
        files: the lines of a mapping that reading them needs, by field.
        cases: the settings under which every arm has runs, the audit's first.
    """

    method: str = ""
    arms: tuple[str, ...] = ()
    measurements: tuple[str, ...] = ()
    series: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Any] = field(default_factory=dict)
    cases: Sequence[Mapping[str, str]] = ({},)


def draft_audit(slug: str, card: Card, today: date) -> str:
    """Return the text of ``SLUG.yaml`` for a paper of which something is run here."""
    return "\n".join([*_head(slug, card, today), _EXPERIMENT])


def draft_module(slug: str) -> str:
    """Return the text of ``SLUG.py``, in which one function is left to write."""
    template = Path(__file__).with_name("templates") / "module.txt"
    return template.read_text(encoding="utf-8").replace("SLUG", slug)


def draft_claims(
    slug: str, card: Card, today: date, claims: Sequence[StatedClaim], results: Results
) -> str:
    """Return the text of ``SLUG.yaml`` for claims that are judged by runs from elsewhere.

    Without claims there is one for each measurement, and each arm that it is compared with.
    """
    lines = [*_head(slug, card, today)]
    checks = [_check(claim.says, results) for claim in claims]
    if not claims:
        claims, checks = _of_results(results)
    if results.method or not results.measurements:
        lines.append(f"method: {results.method or TODO}")
    if results.files:
        lines.append(f"files: {_flow(results.files)}")
    if own := results.cases[0]:
        lines += ["settings:", f"  - {{from: paper, at: TODO, values: {_flow(own)}}}"]
    if results.series:
        lines.append("measurements:")
    for name, tag in results.series.items():
        lines.append(f"  {name}: {{every_step: [], says: {_quoted(f'What was logged as {tag}.')}}}")
    lines.append("claims:")
    main = len(claims) > 1  # an only claim is the main one
    for name, claim, check in zip(_names(claims), claims, checks, strict=True):
        says = _quoted(claim.says) if claim.says else TODO
        at = _quoted(claim.at) if claim.at else TODO
        fields = [f"says: {says}", f"at: {at}", *(["main: true"] if main else [])]
        fields += [f"settings: {_flow(claim.settings)}"] if claim.settings else []
        fields.append(f"holds_if: [{check}]")
        fields += [] if "arm: " in check else ["no_control: TODO"]
        main = False
        if len(claims) > MOST_IN_FULL:
            lines.append(f"  {name}: {{{', '.join(fields)}}}")
        else:
            lines += [f"  {name}:", *(f"    {field}" for field in fields)]
    return "\n".join(lines) + "\n"


def _head(slug: str, card: Card, today: date) -> Iterator[str]:
    yield from _HEAD
    fields = {"slug": slug, "title": _quoted(card.title)}
    if card.authors:
        fields["authors"] = f"[{', '.join(map(_quoted, card.authors))}]"
    if card.venue is not None:
        fields |= {"venue": _quoted(card.venue), "year": str(card.year)}
    line = f"paper: {{{', '.join(f'{name}: {text}' for name, text in fields.items())}}}"
    if len(line) <= WIDEST:
        yield line
    else:
        yield from ("paper:", *(f"  {name}: {text}" for name, text in fields.items()))
    if card.rows:
        yield f"card_read: {today}"
    known = [name for name in VariableName if name in card.rows or name in card.answers]
    if known:
        yield "variables:"
    yield from (_variable(name, card, today) for name in known)


def _variable(name: VariableName, card: Card, today: date) -> str:
    fields = [f"card: {_quoted(card.rows[name])}"] if name in card.rows else []
    fields += ["says: TODO", *(["at: TODO"] if name not in card.rows else [])]
    answers = ",\n".join(
        f"    {{{', '.join(f'{_SHORT.get(f, f)}: {_quoted(t)}' for f, t in answer.items())}, "
        f"as_of: {today}}}"
        for answer in card.answers.get(name, ())
    )
    checklist = f", checklist: [\n{answers}]" if answers else ""
    return f"  {name.value}: {{{', '.join(fields)}{checklist}}}"


_SHORT = {"justification": "says", "locator": "at"}


_COMPARES = re.compile(
    r"(?i)\b(than(?! +[\d.])|outperforms?|beats?|surpass(es)?|improves? (on|over|upon)|better)\b"
)
_BOUNDS = re.compile(r"(?i)\b(at (least|most)|than +[\d.]|above|below|under|reach(es)?|within)\b")
_UPWARDS = re.compile(r"(?i)\b(higher|larger|greater|more)\b")
_DOWNWARDS = re.compile(r"(?i)\b(lower|smaller|less|fewer)\b")
_AT_MOST = re.compile(r"(?i)\b(at most|below|under|less than|no more than|within)\b")
_SMALL = re.compile(
    r"an?|the|of|on|in|at|to|for|from|by|with|and|or|is|are|was|be|than|that|this|its?|as|when|"
    r"which|we|our|their|has|have|does|do|not"
)
WORDS_OF_A_NAME = 4


def _check(says: str, results: Results) -> str:
    """Return a claim's check, with what its words and the results tell."""
    value = _named(says, results.measurements)
    is_bounded = not results.arms or _BOUNDS.search(says) is not None
    if _COMPARES.search(says) or not is_bounded:
        up = _UPWARDS.search(says) is not None
        down = _DOWNWARDS.search(says) is not None
        higher = TODO if up == down else str(up).lower()
        return _beats(value, _named(says, results.arms), higher)
    return _reaches(value, "at_most" if _AT_MOST.search(says) else "at_least")


def _beats(value: str, arm: str, higher: str) -> str:
    return f"{{kind: beats, value: {value}, arm: {arm}, higher: {higher}, from: paper}}"


def _reaches(value: str, side: str) -> str:
    return f"{{kind: reaches, value: {value}, {side}: TODO, from: TODO}}"


def _named(says: str, names: Sequence[str]) -> str:
    """Return the only one of some names, or the only one that a text has; else TODO."""
    spoken = _words(says)
    in_text = [name for name in names if set(_words(name)) <= set(spoken)]
    longest = [name for name in in_text if not any(name != o and name in o for o in in_text)]
    chosen = names if len(names) == 1 else longest
    return chosen[0] if len(chosen) == 1 else TODO


def _of_results(results: Results) -> tuple[list[StatedClaim], list[str]]:
    every = product(results.measurements, results.cases, results.arms or [""])
    claims, checks = [], []
    for value, case, arm in islice(every, MOST_IN_FULL):
        settings = {name: text for name, text in case.items() if results.cases[0][name] != text}
        name = " ".join([value, arm, *settings.values()])
        claims.append(StatedClaim(name=name, settings=settings))
        checks.append(_beats(value, arm, TODO) if arm else _reaches(value, "at_least"))
    return claims, checks


def _names(claims: Sequence[StatedClaim]) -> Iterator[str]:
    """Yield a name for each claim, each another."""
    given: set[str] = set()
    for number, claim in enumerate(claims, start=1):
        words = _words(claim.name) or [w for w in _words(claim.says) if not _SMALL.fullmatch(w)]
        most = len(words) if claim.name else WORDS_OF_A_NAME
        name = "-".join(words[:most])[:60].strip("-") or str(number)
        name = name if read_plain(name) == (name, "") else f"claim-{name}"
        while name in given:
            name = f"{name}-{number}"
        given.add(name)
        yield name


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+|[0-9]+", text.lower())


def _quoted(text: str | None) -> str:
    """A text as a double-quoted YAML scalar, in which JSON's escapes mean the same."""
    return TODO if text is None else json.dumps(UNREADABLE.sub(" ", text), ensure_ascii=False)


def _flow(data: Any) -> str:
    """Plain data in braces and brackets, each text quoted."""
    if isinstance(data, Mapping):
        return f"{{{', '.join(f'{name}: {_flow(below)}' for name, below in data.items())}}}"
    if isinstance(data, list | tuple):
        return f"[{', '.join(map(_flow, data))}]"
    return _quoted(str(data))
