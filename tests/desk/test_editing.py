"""Edits of the shipped audits: only the lines that must change, and exactly the model expected."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from reproaudit.audit.disputes import version_of
from reproaudit.audit.loading import read_text
from reproaudit.audit.model import Audit
from reproaudit.audit.rules import Loc
from reproaudit.audit.variables import ReviewDecision, VariableName
from reproaudit.desk import acts
from reproaudit.desk.acts import Disputed
from reproaudit.desk.splicing import EditError, YamlText

AUDITS = sorted((Path(__file__).parents[2] / "audits").glob("*.yaml"))
TODAY = date(2026, 11, 21)
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""Without shrinking, which takes minutes on texts of this length."""
REVIEWERS = ("R2", "reproaudit", "O'Brien: #1")

HOSTILE = (
    'He said "no": nothing # else',
    "'single' and \\ back\\slash\\n",
    "- a list\n- not: one",
    "two\nlines",
    "two lines and a newline\n",
    "  spaces around\t",
    "a  b   c",
    "!!python/object/apply:os.system [id]",
    "&anchor *alias <<: {a: b}",
    "yes",
    "1e3",
    "0x1F",
    "2026-11-20",
    "null",
    "~",
    "=",
    "---",
    "...",
    "--- !x",
    "? key",
    "%YAML 1.1",
    "@at `tick`",
    "right\u202eto left\u2066",
    "no\u00a0break, zero\u200bwidth",
    "emoji 🧪 and \U0001f468\u200d\U0001f469",
    "{a: b}, [c]",
    "ends with colon:",
    "#",
    '"',
    "'",
    "\\",
    "TODO: é ü ß 漢字 Σ⁻¹ ≤ −",
    "word " * 60,
    "x" * 300,
    ('long: "quoted" text ' * 20).strip(),
    "a\n\n\nb\n c",
    "a\n b: c\n# d",
)
texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(
        st.one_of(
            st.sampled_from(" \n\t:#-'\"\\{}[],&*!|>%@`?~=\u202e\u200b"),
            st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters="\ufeff"),
        ),
        min_size=1,
        max_size=60,
    ),
).filter(lambda text: text.strip() and "\ufffe" not in text and "\uffff" not in text)


@functools.cache
def opened(path: Path) -> tuple[YamlText, Audit]:
    text = path.read_text(encoding="utf-8")
    return YamlText(text), read(text, path)


def read(text: str, path: Path) -> Audit:
    audit, faults = read_text(text, str(path), today=TODAY)
    assert audit is not None, "\n".join(map(str, faults))
    return audit


@dataclass(frozen=True)
class Act:
    """One act: on the text, on plain data, and the place that it may touch."""

    edit: Callable[[YamlText], YamlText]
    expect: Callable[[dict[str, Any]], Loc | None]


@st.composite
def an_act(draw: st.DrawFn, audit: Audit) -> Act:
    who, reason = draw(st.sampled_from(REVIEWERS)), draw(texts)
    kind = draw(st.sampled_from(["decide", "dispute", "withdraw", "answer", "correct", "sign"]))
    today = TODAY.isoformat()
    if kind == "decide":
        name = draw(st.sampled_from(list(VariableName))).value
        decision = draw(st.sampled_from(list(ReviewDecision)))
        entry = {"reviewer": who, "decision": decision.value, "reason": reason, "as_of": today}

        def decided(data: dict[str, Any]) -> Loc:
            i = next(i for i, one in enumerate(data["variables"]) if one["name"] == name)
            return ("variables", i, "reviews", placed(data["variables"][i]["reviews"], entry))

        return Act(lambda text: acts.decide(text, name, who, decision, reason, TODAY), decided)
    if kind == "correct":
        name = draw(st.sampled_from(sorted(audit.settings)))
        field = "why" if audit.settings[name].why else "locator"

        def corrected(data: dict[str, Any]) -> Loc:
            data["settings"][name][field] = reason
            return ("settings", name, field)

        return Act(lambda text: acts.correct(text, name, field, reason), corrected)
    if kind == "sign":
        version = version_of(audit)

        def signed(data: dict[str, Any]) -> Loc:
            entry = {"reviewer": who, "version": version, "as_of": today}
            return ("sign_offs", placed(data["sign_offs"], entry))

        return Act(lambda text: acts.sign_off(text, who, version, TODAY), signed)
    claim = draw(st.sampled_from(audit.claims))
    if kind == "answer":
        who = who.replace("reproaudit", "A. Reader")  # no response is the program's

        def answered(data: dict[str, Any]) -> Loc:
            entry = {"to": claim.id, "by": who, "statement": reason, "as_of": today}
            data["responses"].append({**entry, "locator": None})
            return ("responses", len(data["responses"]) - 1)

        return Act(lambda text: acts.answer(text, claim.id, who, reason, None, TODAY), answered)
    about = draw(
        st.sampled_from(
            [
                Disputed(claim=claim.id),
                Disputed(claim=claim.id, tolerance=claim.checks[-1].name),
                Disputed(claim=claim.id, control=1),
                Disputed(claim=claim.id, control="positive"),
                Disputed(source=next(iter(audit.settings))),
            ]
        )
    )
    entry = {**vars(about), "reviewer": who, "reason": reason, "as_of": today}
    if kind == "dispute":
        return Act(
            lambda text: acts.dispute(text, about, who, reason, TODAY),
            lambda data: ("disputes", placed(data["disputes"], entry)),
        )

    def withdraw(text: YamlText) -> YamlText:
        index = acts.dispute_of(text, about, who)
        return text if index is None else acts.withdraw_dispute(text, about, who)

    def withdrawn(data: dict[str, Any]) -> None:
        data["disputes"] = [one for one in data["disputes"] if not alike(one, entry)]

    return Act(withdraw, withdrawn)


def alike(a: dict[str, Any], b: dict[str, Any]) -> bool:
    said = {"reason", "as_of", "decision", "version"}
    return all(a[name] == b[name] for name in b if name not in said)


def placed(entries: list[dict[str, Any]], entry: dict[str, Any]) -> int:
    """Puts an entry in place of the one of the same reviewer, or at the end."""
    for i, one in enumerate(entries):
        if alike(one, entry):
            if {**one, "as_of": entry["as_of"]} != {**one, **entry}:
                entries[i] = {**one, **entry}
            return i
    entries.append(entry)
    return len(entries) - 1


def lines_of(text: str, loc: Loc) -> range:
    """The lines of a node, by the parser's own marks; from its name on if it has one."""
    node = yaml.compose(text, yaml.SafeLoader)
    start = 0
    for step in loc:
        if isinstance(node, yaml.MappingNode):
            found = next(((k, v) for k, v in node.value if k.value == step), None)
        else:
            found = None if step >= len(node.value) else (node.value[step],) * 2
        if found is None:
            return range(0)
        start, node = found[0].start_mark.line, found[1]
    end = node.end_mark
    lines = text.splitlines()
    inline = isinstance(node, yaml.ScalarNode) and node.style not in ("|", ">")
    stop = end.line + inline
    comment = None if isinstance(node, yaml.ScalarNode) else "#"  # a text may hold a #
    while stop > start + 1 and not lines[stop - 1].partition(comment or "\n")[0].strip():
        stop -= 1  # a parser's mark lies behind the blank lines and comments that follow
    return range(start, stop)


def assert_touches_only(old: str, new: str, loc: Loc | None) -> None:
    """Apart from the lines of the place, the two texts are the same."""
    before = list(enumerate(old.splitlines(keepends=True)))
    after = list(enumerate(new.splitlines(keepends=True)))
    may_go, may_come = (
        (range(0), range(0)) if loc is None else (lines_of(old, loc), lines_of(new, loc))
    )
    kept = [line for i, line in before if i not in may_go]
    rest = [line for i, line in after if i not in may_come]
    start = next(
        (i for i, pair in enumerate(zip(kept, rest, strict=False)) if pair[0] != pair[1]), 0
    )
    more = len(rest) - len(kept)
    if loc is None:  # a withdrawal takes lines away and adds none
        assert kept[:start] + kept[start - more :] == rest
    else:  # the name of a list that was not there, and a blank line before it
        assert set(rest[start : start + more]) <= {f"{loc[0]}:\n", "\n"}
        assert rest[:start] + rest[start + more :] == kept


@pytest.mark.parametrize(
    "path",
    [pytest.param(one, marks=pytest.mark.slow) if n % 2 else one for n, one in enumerate(AUDITS)],
    ids=lambda path: path.stem,
)
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(data=st.data())
def test_any_acts_touch_only_their_lines_and_load_to_the_expected_model(
    path: Path, data: st.DataObject
) -> None:
    text, audit = opened(path)
    expected = audit.model_dump(mode="json")
    for act in data.draw(st.lists(an_act(audit), min_size=1, max_size=5)):
        edited = act.edit(text)
        assert_touches_only(text.text, edited.text, act.expect(expected))
        text = edited
    found = read(text.text, path).model_dump(mode="json")
    assert json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_comes_back_the_same(hostile: str) -> None:
    path = AUDITS[-2]
    text, _ = opened(path)
    text = acts.decide(text, "Pseudocode", "R2", ReviewDecision.AGREE, hostile, TODAY)
    text = acts.dispute(text, Disputed(source="tokens"), hostile, hostile, TODAY)
    text = text.put(("settings", "tokens", "smoke", "reason"), hostile)  # in brackets
    audit = read(text.text, path)
    assert audit.variables[2].reviews[-1].reason == hostile
    assert audit.disputes[0].reviewer == audit.disputes[0].reason == hostile
    assert audit.settings["tokens"].smoke is not None
    assert audit.settings["tokens"].smoke.reason == hostile
    assert not set(text.text) & set("\u202e\u2066\u200b\u00a0")


@pytest.mark.parametrize("path", AUDITS, ids=lambda path: path.stem)
def test_withdrawing_gives_the_same_bytes(path: Path) -> None:
    text, audit = opened(path)
    about = Disputed(claim=audit.claims[0].id)
    edited = acts.dispute(text, about, "R2", "No.", TODAY)
    assert acts.withdraw_dispute(edited, about, "R2").text == text.text
    edited = acts.decide(text, "Pseudocode", "R2", ReviewDecision.AGREE, "So.", TODAY)
    assert acts.withdraw_decision(edited, "Pseudocode", "R2").text == text.text


FILE = """\
# head
title: a   # kept

list:
  # above
  - name: x
    note: y  # beside
    # below

  # between
rest: [a, {b: c}]  # end
tail: {x: 1, y: 2}
lines: |
  one
  two

last: plain
  goes on"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_comments_line_ends_and_a_missing_last_newline_are_kept(newline: str) -> None:
    text = YamlText(FILE.replace("\n", newline))
    edited = (
        text.append(("list",), {"name": "z", "note": "long " * 30})
        .append(("rest",), "d, e")
        .put(("tail", "z"), True)
        .put(("title",), "b: c")
        .put(("lines",), "one")
        .put(("list", 0, "more"), 0.00001, before=("name",))
        .append(("new",), {"a": 1}, before=("last",))
    )
    wanted = f"""\
# head
title: "b: c"   # kept

list:
  # above
  - name: x
    more: 1.0e-05
    note: y  # beside
    # below
  - name: z
    note: "{("long " * 18).strip()}
      {("long " * 12)}"

  # between
rest: [a, {{b: c}}, "d, e"]  # end
tail: {{x: 1, y: 2, z: true}}
lines: one

last: plain
  goes on

new:
  - a: 1"""
    assert edited.text == wanted.replace("\n", newline)


def test_what_cannot_be_edited_without_more_is_refused() -> None:
    with pytest.raises(EditError):
        YamlText("a:\n  - b # why\n  - c\n").put(("a",), ["d"])
    with pytest.raises(EditError):
        YamlText("- - a\n  - b\n").remove((0,))
    with pytest.raises(EditError):
        YamlText("a: 1\n").remove(("a", 0))
    with pytest.raises(EditError):
        YamlText("a: {b: 1}\n").without(("a", "b"))
    with pytest.raises(EditError):
        YamlText("a: {}\n").put(("a", "b"), 1)
