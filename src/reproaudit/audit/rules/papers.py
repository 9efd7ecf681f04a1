"""Rules of the audit as a whole: variables, seeds, findings, dates and unfinished text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Any

from reproaudit.audit.model import TIERS, Audit
from reproaudit.audit.rules.names import ids_of_their_own, unknown
from reproaudit.audit.rules.rule import Leaves, Loc, Rule, Severity, Violation
from reproaudit.audit.rules.values import MOST_SHOWN, key, keys, repeated, shown
from reproaudit.audit.variables import VariableName
from reproaudit.cell import SettingValue

LARGEST_SEED = 2**32 - 1
"""The largest seed that every random generator in use takes; NumPy's legacy one is narrowest."""

STALE_AFTER_YEARS = 2

_MARKS = ("TODO", "FIXME", "XXX", "TBD")

UNFINISHED = re.compile(rf"\b({'|'.join(_MARKS)})\b")
"""Marks of a text that is still to be written."""


def variables_complete(audit: Audit) -> Iterator[Violation]:
    """Each of the nine variables, once."""
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


def seeds_are_usable(audit: Audit) -> Iterator[Violation]:
    """A seed counts once, and every generator takes it."""
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


def finding_ids(audit: Audit) -> Iterator[Violation]:
    """A finding's id is unique and begins with the slug."""
    ids = [finding.id for finding in audit.findings]
    yield from ids_of_their_own("findings", "finding", ids, audit.paper.slug)


def finding_settings_exist(audit: Audit) -> Iterator[Violation]:
    """A finding's settings are settings of the audit."""
    known = set(audit.settings)
    for experiment, one in audit.experiments.items():
        known.update(one.settings, (f"{experiment}.{name}" for name in one.settings))
    for i, finding in enumerate(audit.findings):
        yield from unknown(("findings", i, "settings"), "setting", finding.settings, known)


def finding_claims_exist(audit: Audit) -> Iterator[Violation]:
    """A finding's claims are claims of the audit."""
    known = {claim.id for claim in audit.claims}
    for i, finding in enumerate(audit.findings):
        yield from unknown(("findings", i, "claims"), "claim", finding.claims, known)


def effects_exist(audit: Audit) -> Iterator[Violation]:
    """A measured effect is of a claim of the audit, under an alternative of the ledger."""
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


def responses_answer(audit: Audit) -> Iterator[Violation]:
    """A response answers a finding or a claim of the audit."""
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


def responses_follow(audit: Audit) -> Iterator[Violation]:
    """A response is not older than the finding that it answers."""
    found = {finding.id: finding.as_of for finding in audit.findings}
    for i, response in enumerate(audit.responses):
        if response.to in found and response.as_of < found[response.to]:
            yield Violation(
                ("responses", i, "as_of"),
                f"found {response.as_of}, before the finding of {found[response.to]}; expected a "
                "later date",
            )


def reviewers_differ(audit: Audit) -> Iterator[Violation]:
    """A reviewer decides once on each variable."""
    for i, variable in enumerate(audit.variables):
        reviewers = [review.reviewer for review in variable.reviews]
        for j in repeated(reviewers):
            yield Violation(
                ("variables", i, "reviews", j, "reviewer"),
                f"found a second decision of '{reviewers[j]}' on '{variable.name}'; expected one "
                "for each reviewer",
            )


def nothing_unfinished(leaves: Leaves) -> Iterator[Violation]:
    """No TODO is left in any text."""
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


def nothing_blank(leaves: Leaves) -> Iterator[Violation]:
    """No text is blank, besides the value of a setting."""
    for above, step, text in leaves.texts:
        if not text or text.isspace():
            loc = (*above, step)
            if not {"value", "alternatives", "controls"} & set(loc):
                yield Violation(loc, "found a blank text; expected words")


def dates_are_fresh(leaves: Leaves) -> Iterator[Violation]:
    """A date lies neither in the future nor, besides a response's, years back."""
    today = leaves.today
    stale = _years_before(today, STALE_AFTER_YEARS)
    for above, step, day in leaves.dates:
        loc = (*above, step)
        if day > today:
            yield Violation(loc, f"found {day}, which lies in the future; expected a past date")
        elif day < stale and loc[0] != "responses":
            message = f"found {day}; expected a date within {STALE_AFTER_YEARS} years of {today}"
            yield Violation(loc, message)


def _years_before(day: date, years: int) -> date:
    try:
        return day.replace(year=day.year - years)
    except ValueError:  # 29 February
        return day.replace(year=day.year - years, day=28)


PAPER_RULES = (
    Rule(
        "RA151",
        Severity.ERROR,
        "The documentation score is over nine variables, each decided once.",
        "List each of the nine variables once.",
        variables_complete,
    ),
    Rule(
        "RA152",
        Severity.ERROR,
        "A repeated seed would count one run twice.",
        "Remove the repetition.",
        seeds_are_usable,
    ),
    Rule(
        "RA153",
        Severity.WARNING,
        "Unfinished text has not been reviewed.",
        "Finish the text.",
        find_in_leaves=nothing_unfinished,
    ),
    Rule(
        "RA154",
        Severity.WARNING,
        "A card, a repository and a reviewer's decision change with time.",
        "Look again and write today's date.",
        find_in_leaves=dates_are_fresh,
    ),
    Rule(
        "RA155",
        Severity.ERROR,
        "A blank reason or statement is none.",
        "Write the text.",
        find_in_leaves=nothing_blank,
    ),
    Rule(
        "RA156",
        Severity.ERROR,
        "Agreement is counted between reviewers, each with one voice.",
        "Keep the reviewer's latest decision.",
        reviewers_differ,
    ),
    Rule(
        "RA161",
        Severity.ERROR,
        "A finding's id is permanent and unique over all audits.",
        "Begin it with the slug and a dot, and use it once.",
        finding_ids,
    ),
    Rule(
        "RA162",
        Severity.ERROR,
        "A finding about a setting points at it.",
        "Name a setting of this audit.",
        finding_settings_exist,
    ),
    Rule(
        "RA163",
        Severity.ERROR,
        "A finding about a claim points at it.",
        "Name a claim of this audit.",
        finding_claims_exist,
    ),
    Rule(
        "RA164",
        Severity.ERROR,
        "A measured effect is a claim's answer to another value of a setting left open.",
        "Name a claim of this audit, a setting of its ledger, and an alternative to it.",
        effects_exist,
    ),
    Rule(
        "RA165",
        Severity.ERROR,
        "A response stands beside what it answers.",
        "Name a finding or a claim of this audit.",
        responses_answer,
    ),
    Rule(
        "RA166",
        Severity.WARNING,
        "A response that is older than its finding answers something else.",
        "Look up the date of the response, or of the finding.",
        responses_follow,
    ),
)
"""RA151 to RA166."""
