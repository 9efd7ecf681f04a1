"""The grammar of `reproaudit review SLUG --set 'WHAT=WORD: TEXT'`, and what each form does.

Dataset Splits=disagree: REASON             agree, disagree or not applicable
claim ID=dispute: REASON                    the claim as it is stated
tolerance ID/CHECK=dispute: REASON          a check's tolerance; CHECK is its name or number
control ID/NUMBER=dispute: REASON           a control; NUMBER counts from 1, or is `positive`
source SETTING=dispute: REASON              where a setting's value comes from
…=withdraw                                  takes one's own decision or dispute back
answer ID=TEXT                              answers a finding or a claim, as its author
setting SETTING.FIELD=VALUE                 value, source, locator, why or alternatives
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

import yaml

from reproaudit.audit.loading.scalars import read_plain
from reproaudit.audit.variables import ReviewDecision, VariableName
from reproaudit.desk import acts
from reproaudit.desk.acts import Disputed
from reproaudit.desk.splicing import YamlText
from reproaudit.errors import UsageError, did_you_mean

DISPUTABLE = ("claim", "tolerance", "control", "source")
"""The words that name what can be disputed."""

NUMBER_WITHOUT_A_POINT = "RA009"
"""The rule about 1e-3, which is written as 0.001."""

EXAMPLES = "Examples: 'Dataset Splits=disagree: REASON', 'claim ID=dispute: REASON'."


def carry_out(text: YamlText, order: str, reviewer: str, today: date) -> YamlText:
    """The text after one `--set`.

    Raises:
        UsageError: if the order is not of the grammar, or names what the audit does not have.
    """
    subject, equals, said = order.partition("=")
    subject, said = subject.strip(), said.strip()
    if not equals or not subject or not said:
        raise UsageError(f"--set '{order}': expected WHAT=WORD: TEXT. {EXAMPLES}")
    kind, _, name = subject.partition(" ")
    name = name.strip()
    try:
        if kind in DISPUTABLE:
            return _dispute(text, disputed(text, kind, name), said, reviewer, today)
        if kind == "setting":
            setting, _, field = name.rpartition(".")
            return acts.correct(text, setting, field, _value(field, said))
        if kind == "answer":
            return acts.answer(text, name, reviewer, said, None, today)
        return _decide(text, subject, said, reviewer, today)
    except UsageError as error:
        raise UsageError(f"--set '{order}': {error}") from error


def disputed(text: YamlText, kind: str, name: str) -> Disputed:
    """The subject of a dispute, from a kind and a name such as `tolerance` and `ID/NUMBER`.

    Raises:
        UsageError: if the audit has no such thing.
    """
    if kind == "source":
        acts.setting_loc(text, name)
        return Disputed(source=name)
    identifier, _, part = name.partition("/")
    claims: list[Mapping[str, Any]] = text.at(("claims",)) or []
    known = {str(one.get("id")): one for one in claims}
    if identifier not in known:
        raise UsageError(f"no claim '{identifier}'. {did_you_mean(identifier, known)}")
    if kind == "claim":
        return Disputed(claim=identifier)
    claim = known[identifier]
    if kind == "tolerance":
        names = [str(one.get("name")) for one in claim.get("checks", ())]
        number = int(part) if part.isdecimal() and len(part) < 5 else 0
        if part not in names and 1 <= number <= len(names):
            part = names[number - 1]
        if part not in names:
            raise UsageError(f"{identifier} has no check '{part}'. {did_you_mean(part, names)}")
        return Disputed(claim=identifier, tolerance=part)
    count = len(claim.get("controls", ()))
    if part != "positive" and not (part.isdecimal() and len(part) < 5 and 1 <= int(part) <= count):
        raise UsageError(f"{identifier} has no control '{part}'; write 1 to {count}, or positive.")
    return Disputed(claim=identifier, control=part if part == "positive" else int(part))


def _dispute(text: YamlText, about: Disputed, said: str, reviewer: str, today: date) -> YamlText:
    if said == "withdraw":
        return acts.withdraw_dispute(text, about, reviewer)
    word, reason = _word(said)
    if word != "dispute" or not reason:
        raise UsageError("expected 'dispute: REASON' or 'withdraw'.")
    return acts.dispute(text, about, reviewer, reason, today)


def _decide(text: YamlText, name: str, said: str, reviewer: str, today: date) -> YamlText:
    names = {one.value.lower(): one.value for one in VariableName}
    if name.lower() not in names:
        kinds = (*DISPUTABLE, "setting …", "answer …", *names.values())
        raise UsageError(f"nothing is called '{name}'. {did_you_mean(name, kinds)}")
    name = names[name.lower()]
    if said == "withdraw":
        return acts.withdraw_decision(text, name, reviewer)
    word, reason = _word(said)
    known = {one.value.replace("_", " "): one for one in ReviewDecision}
    decision = known.get(word.replace("_", " "))
    if decision is None or not reason:
        raise UsageError(f"expected one of {', '.join(known)}, then ': ' and the reason.")
    return acts.decide(text, name, reviewer, decision, reason, today)


def _word(said: str) -> tuple[str, str]:
    """The word before the first colon, and the text behind it."""
    word, _, text = said.partition(":")
    return word.strip().lower(), text.strip()


def _value(field: str, said: str) -> Any:
    """The value of a setting's field; numbers, true, false and [lists] as YAML reads them."""
    if field not in ("value", "alternatives"):
        return said
    return setting_value(said, many=field == "alternatives")


def setting_value(said: str, *, many: bool = False) -> Any:
    """A setting's value from what somebody typed: true or false, a number, a text or a [list].

    Args:
        said: the text; in quotes it stays text, whatever it looks like.
        many: whether several values are meant, a [list] or values with commas between them.

    Raises:
        UsageError: if it is none of these.
    """
    if many and not re.fullmatch(r"\[.*\]", said, re.DOTALL):
        said = f"[{said}]"
    expected = f"found '{said}'; expected true or false, a number, text or a [list] of these."
    try:
        if any(isinstance(one, yaml.AliasEvent) for one in yaml.parse(said, yaml.SafeLoader)):
            raise UsageError(expected)
        node = yaml.compose(said, yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UsageError(f"cannot read '{said}'; put text with : or # in quotes.") from error
    if isinstance(node, yaml.SequenceNode):
        return [_list_entry(one, expected) for one in node.value]
    return _single(node, expected)


def _list_entry(node: Any, expected: str) -> Any:
    """A value of a list; an alternative may be a list itself."""
    if isinstance(node, yaml.SequenceNode):
        return [_single(one, expected) for one in node.value]
    return _single(node, expected)


def _single(node: Any, expected: str) -> Any:
    if not isinstance(node, yaml.ScalarNode):
        raise UsageError(expected)
    if node.style:
        return node.value
    value, doubt = read_plain(node.value)
    if doubt is not None and doubt.rule != NUMBER_WITHOUT_A_POINT:
        raise UsageError(f"{doubt.message}. {doubt.remedy or 'Put text in quotes.'}")
    if value is None:
        raise UsageError(expected)
    return value
