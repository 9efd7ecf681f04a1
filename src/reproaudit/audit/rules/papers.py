"""Rules of the audit as a whole: variables, seeds, findings, dates and unfinished text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reproaudit.audit.model import TIERS, Audit
from reproaudit.audit.rules.names import every_setting, ids_of_their_own, unknown
from reproaudit.audit.rules.rule import Leaves, Loc, Violation, error, warning
from reproaudit.audit.rules.values import MOST_SHOWN, key, keys, repeated, shown
from reproaudit.audit.variables import VariableName
from reproaudit.cell import SettingValue

LARGEST_SEED = 2**32 - 1
"""The largest seed that every random generator in use takes; NumPy's legacy one is narrowest."""


_MARKS = ("TODO", "FIXME", "XXX", "TBD")

UNFINISHED = re.compile(rf"\b({'|'.join(_MARKS)})\b")
"""Marks of a text that is still to be written."""


@error(
    "RA151",
    "The documentation score is over nine variables, each decided once.",
    "List each of the nine variables once.",
)
def _variables_complete(audit: Audit) -> Iterator[Violation]:
    names = [variable.name for variable in audit.variables]
    for i in repeated(names):
        yield Violation(
            ("variables", i, "name"),
            f"found '{names[i]}' a second time; expected each variable once",
            "Remove one of the two, or merge them.",
        )
    for missing in VariableName:
        if missing not in names:
            yield Violation(
                ("variables",),
                f"found no variable '{missing}'; expected all nine",
                f"Add an entry with 'name: {missing}'.",
                about=missing.value,
            )


@error("RA152", "A repeated seed would count one run twice.", "Remove the repetition.")
def _seeds_are_usable(audit: Audit) -> Iterator[Violation]:
    for tier in TIERS:
        seeds: tuple[int, ...] = getattr(audit.seeds, tier)
        for i in repeated(seeds):
            yield Violation(
                ("seeds", tier, i), f"found seed {seeds[i]} again; expected different seeds"
            )
        for i, seed in enumerate(seeds):
            if not 0 <= seed <= LARGEST_SEED:
                yield Violation(
                    ("seeds", tier, i),
                    f"found seed {seed}; expected 0 to {LARGEST_SEED}",
                    "Choose a seed in this range.",
                )


@error(
    "RA161",
    "A finding's id is permanent and unique over all audits.",
    "Begin it with the slug and a dot, and use it once.",
)
def _finding_ids(audit: Audit) -> Iterator[Violation]:
    ids = [finding.id for finding in audit.findings]
    yield from ids_of_their_own("findings", "finding", ids, audit.paper.slug)


@error("RA162", "A finding about a setting points at it.", "Name a setting of this audit.")
def _finding_settings_exist(audit: Audit) -> Iterator[Violation]:
    known = every_setting(audit)
    for i, finding in enumerate(audit.findings):
        yield from unknown(("findings", i, "settings"), "setting", finding.settings, known)


@error("RA163", "A finding about a claim points at it.", "Name a claim of this audit.")
def _finding_claims_exist(audit: Audit) -> Iterator[Violation]:
    known = {claim.id for claim in audit.claims}
    for i, finding in enumerate(audit.findings):
        yield from unknown(("findings", i, "claims"), "claim", finding.claims, known)


@error(
    "RA164",
    "A measured effect is a claim's answer to another value of a setting left open.",
    "Name a claim of this audit, a setting of its ledger, and an alternative to it.",
)
def _effects_exist(audit: Audit) -> Iterator[Violation]:
    claims = {claim.id for claim in audit.claims}
    others = _alternatives(audit)
    known = {name: keys(values) for name, values in others.items()}
    for i, finding in enumerate(audit.findings):
        for j, effect in enumerate(finding.effects):
            loc = ("findings", i, "effects", j)
            if effect.claim not in claims:
                yield Violation(
                    (*loc, "claim"),
                    f"found the unknown claim '{effect.claim}'; expected one of this audit",
                    about=effect.claim,
                    known=claims,
                )
            if effect.setting not in others:
                yield Violation(
                    (*loc, "setting"),
                    f"found '{effect.setting}'; expected a setting of the ledger",
                    about=effect.setting,
                    known=others,
                )
            elif key(effect.value) not in known[effect.setting]:
                listed = ", ".join(map(shown, others[effect.setting][:MOST_SHOWN]))
                yield Violation(
                    (*loc, "value"),
                    f"found {shown(effect.value)}; expected an alternative to "
                    f"'{effect.setting}', one of {listed}",
                )


def _alternatives(audit: Audit) -> dict[str, list[SettingValue]]:
    """The alternatives of the ledger by the names that a finding may use for a setting."""
    others: dict[str, list[SettingValue]] = {}
    for entry in audit.ledger():
        names = [entry.name]
        if entry.experiment is not None:
            names.append(f"{entry.experiment}.{entry.name}")
        for name in names:
            others.setdefault(name, []).extend(entry.setting.others)
    return others


@error(
    "RA165", "A response stands beside what it answers.", "Name a finding or a claim of this audit."
)
def _responses_answer(audit: Audit) -> Iterator[Violation]:
    known = {*(claim.id for claim in audit.claims), *(one.id for one in audit.findings)}
    for i, response in enumerate(audit.responses):
        if response.to not in known:
            yield Violation(
                ("responses", i, "to"),
                f"found the unknown id '{response.to}'; expected a finding or a claim of this "
                "audit",
                about=response.to,
                known=known,
            )


@error(
    "RA156",
    "Agreement is counted between reviewers, each with one voice.",
    "Keep the reviewer's latest decision.",
)
def _reviewers_differ(audit: Audit) -> Iterator[Violation]:
    for i, variable in enumerate(audit.variables):
        reviewers = [review.reviewer for review in variable.reviews]
        for j in repeated(reviewers):
            yield Violation(
                ("variables", i, "reviews", j, "reviewer"),
                f"found a second decision of '{reviewers[j]}' on '{variable.name}'; expected one "
                "for each reviewer",
            )


@warning("RA153", "Unfinished text has not been reviewed.", "Finish the text.")
def _nothing_unfinished(leaves: Leaves) -> Iterator[Violation]:
    everything = "\n".join([text for _, _, text in leaves.texts])
    if any(mark in everything for mark in _MARKS):  # nearly always there is none
        for above, step, text in leaves.texts:
            violation = unfinished((*above, step), text)
            if violation is not None:
                yield violation


def unfinished(loc: Loc, value: Any) -> Violation | None:
    """The violation of a value at a place, if it is a text with a TODO."""
    match = UNFINISHED.search(value) if isinstance(value, str) else None
    if match is None:
        return None
    return Violation(loc, f"found '{match.group()}' in the text; expected finished text")


@error("RA155", "A blank reason or statement is none.", "Write the text.")
def _nothing_blank(leaves: Leaves) -> Iterator[Violation]:
    for above, step, text in leaves.texts:
        if not text or text.isspace():
            loc = (*above, step)
            if not {"value", "alternatives", "controls"} & set(loc):
                yield Violation(loc, "found a blank text; expected words")


@warning("RA154", "A date says when somebody looked.", "Write the day of that look.")
def _dates_are_past(leaves: Leaves) -> Iterator[Violation]:
    for above, step, day in leaves.dates:
        if day > leaves.today:
            message = f"found {day}, which lies in the future; expected a past date"
            yield Violation((*above, step), message)
