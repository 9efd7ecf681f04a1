"""The scorecard as Markdown: for a repository's page, a review or an issue.

Text from audits and records is escaped, so that a statement can neither break a table nor become
markup. The figures are named, not drawn: they are in the HTML page beside it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from reproaudit.audit.documentation import UNSCORED
from reproaudit.reports import phrasing
from reproaudit.scorecard import ClaimModel, Scorecard


def render_markdown(scorecard: Scorecard) -> str:
    """The scorecard of one paper at one tier."""
    blocks = [
        *_heading(scorecard),
        *_summary(scorecard),
        "## Claims",
        *(block for claim in scorecard.claims for block in _claim(scorecard, claim)),
        *_beside(scorecard),
        *_documentation(scorecard),
        *_ledger(scorecard),
        *_findings(scorecard),
        *_not_audited(scorecard),
        *_environment(scorecard),
    ]
    return "\n\n".join(blocks) + "\n"


def escaped(text: object) -> str:
    """Text that Markdown shows as it is, in a table's cell too, on one line."""
    plain = html.escape(phrasing.clean(str(text)), quote=False)
    marked = re.sub(r"([\\`*_\[\]|~$])", r"\\\1", plain)
    return re.sub(r"^([#+-]|\d+[.)](?= ))", r"\\\1", marked)


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; the cells are escaped here."""
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    lines += [f"| {' | '.join(escaped(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def _items(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _heading(scorecard: Scorecard) -> Iterator[str]:
    paper = scorecard.paper
    yield f"# {escaped(paper.get('title', ''))}"
    slug, tier = escaped(paper.get("slug", "")), escaped(scorecard.tier)
    yield f"{escaped(phrasing.citation(paper))}. Scorecard of {slug} at the {tier} tier."
    if scorecard.origin is not None:
        yield f"**{escaped(phrasing.origin_words(scorecard.origin))}**"


def _beside(scorecard: Scorecard) -> Iterator[str]:
    if not scorecard.beside:
        return
    yield "## Beside our own records"
    theirs = {claim.id: claim for claim in scorecard.claims}
    yield _table(
        ("Claim", "Elsewhere", "Estimate", "Ours", "Estimate", "Difference"),
        (
            (
                ours.id,
                f"{phrasing.words(theirs[ours.id].verdict)}, "
                f"{phrasing.evidence_label(theirs[ours.id])}",
                phrasing.sentence(part)
                if (part := phrasing.binding_part(theirs[ours.id]))
                else "no estimate",
                f"{phrasing.words(ours.verdict)}, {ours.evidence}",
                ours.reading,
                ours.difference,
            )
            for ours in scorecard.beside
        ),
    )


def _summary(scorecard: Scorecard) -> Iterator[str]:
    documentation = scorecard.documentation
    score = (
        f"{documentation.strict} of {documentation.of} variables by the card, "
        f"{documentation.reviewed} of {documentation.of} as reviewed. "
    )
    facts = {
        "Verdicts": phrasing.counts_words(phrasing.verdict_counts(scorecard.claims)),
        "Coverage": phrasing.coverage_words(scorecard),
        "Chance": phrasing.chance_words(scorecard),
        "Documentation": score + phrasing.rate_words(documentation),
        "Left open": f"{len(scorecard.ledger)} in the underspecification ledger",
        "Findings": str(len(scorecard.findings)),
        "Records": phrasing.records_words(scorecard),
    }
    yield _items(f"**{name}:** {escaped(text)}" for name, text in facts.items())
    yield _table(
        ("Claim", "Verdict", "Evidence", "Weight", "Estimate against bound"),
        (
            (
                claim.id,
                phrasing.words(claim.verdict),
                phrasing.evidence_words(claim).partition(":")[0],
                phrasing.stated(claim.weight),
                phrasing.sentence(part) if (part := phrasing.binding_part(claim)) else "none",
            )
            for claim in scorecard.claims
        ),
    )


def _claim(scorecard: Scorecard, claim: ClaimModel) -> Iterator[str]:
    yield f"### {escaped(phrasing.words(claim.verdict).capitalize())}: {escaped(claim.id)}"
    where = f"{claim.locator}; weight {phrasing.stated(claim.weight)}; rule {claim.rule_hash[:8]}"
    yield f"{escaped(claim.statement)} ({escaped(where)})"
    yield _items(_facts(scorecard, claim))
    yield _table(("Who", "Decision", "Estimate [interval]", "How"), _answers(scorecard, claim))
    if len(claim.parts) > 1:
        yield _table(
            ("Part", "Decision", "Estimate [interval]", "Control"),
            (
                (one.measured, one.decision, phrasing.sentence(one), one.control or "not judged")
                for one in claim.parts
            ),
        )


def _facts(scorecard: Scorecard, claim: ClaimModel) -> Iterator[str]:
    part = phrasing.binding_part(claim)
    yield f"**Why:** {escaped(claim.why)}"
    yield f"**Evidence:** {escaped(phrasing.evidence_words(claim))}"
    if part is not None:
        yield f"**Tolerance:** {escaped(part.reason)}"
        if power := phrasing.power(part):
            yield f"**Undecided:** {escaped(power)}"
    for warning in phrasing.warnings(claim):
        yield f"**Warning:** {escaped(warning)}"
    if found := ", ".join(name for _, name in phrasing.findings_about(scorecard, claim)):
        yield f"**Findings:** {escaped(found)}"
    yield from _responses(scorecard, claim.id)


def _responses(scorecard: Scorecard, identifier: str) -> Iterator[str]:
    for response in phrasing.responses_to(scorecard, identifier):
        yield f"**Response:** {escaped(phrasing.response_words(response))}"


def _answers(scorecard: Scorecard, claim: ClaimModel) -> Iterator[tuple[str, str, str, str]]:
    part = phrasing.binding_part(claim)
    if part is not None:
        note = f"{part.measured}; {phrasing.spread(part, claim.seeds)}"
        yield "this claim", part.decision, phrasing.sentence(part), note
    elif claim.decision is not None:
        why = phrasing.no_estimate(scorecard, claim.experiment, scorecard.tier, {})
        yield "this claim", claim.decision, why, ""
    for name, control in phrasing.controls_of(claim):
        said = phrasing.control_words(scorecard, claim, control)
        note = f"{control.why} ({phrasing.control_differences(control)}; {control.tier} scale)"
        yield name, control.decision or "not judged", said, note
    if claim.positive_control is None:
        reason = claim.positive_control_missing or "no reason given"
        yield "positive control", "none", "none can be constructed", reason


def _documentation(scorecard: Scorecard) -> Iterator[str]:
    yield "## Documentation"
    yield _table(
        ("Variable", "Card", "Review", "Documented", "Reasons"),
        (
            (
                one.name,
                f"{one.card} ({one.card_as_of})",
                phrasing.words(one.decision),
                "not scored" if one.name in UNSCORED else "yes" if one.documented else "no",
                "; ".join(one.reasons),
            )
            for one in scorecard.documentation.variables
        ),
    )
    agreement = scorecard.documentation.agreement
    if agreement is not None:
        yield f"{escaped(phrasing.agreement_words(agreement))}."
        still_open = phrasing.open_disagreements(scorecard.documentation)
        yield _items(f"**Open: {escaped(name)}:** {escaped(said)}" for name, said in still_open)


def _ledger(scorecard: Scorecard) -> Iterator[str]:
    yield "## Underspecification ledger"
    if not scorecard.ledger:
        yield "Empty: no setting is assumed or contradicted."
        return
    yield _table(
        ("Setting", "Experiment", "Value run", "Source", "Why", "What else it could be"),
        (
            (
                entry.setting,
                entry.experiment or "all",
                phrasing.value_words(entry.value),
                phrasing.words(entry.source),
                entry.why,
                "; ".join(phrasing.value_words(one) for one in entry.others),
            )
            for entry in scorecard.ledger
        ),
    )


def _findings(scorecard: Scorecard) -> Iterator[str]:
    yield "## Findings"
    if not scorecard.findings:
        yield "None."
        return
    yield _items(line for one in scorecard.findings for line in _finding(scorecard, one))


def _finding(scorecard: Scorecard, one: Mapping[str, Any]) -> Iterator[str]:
    about = ", ".join(name for _, name in phrasing.claims_named(scorecard, one))
    parts = [
        f"**{escaped(one['kind'])}** {escaped(one['id'])} ({escaped(one['as_of'])}): "
        f"{escaped(one['statement'])} Sources: {escaped('; '.join(one['sources']))}.",
        f"Settings: {escaped(', '.join(one['settings']))}." if one["settings"] else "",
        f"Claims: {escaped(about)}." if about else "",
        f"Measured effect: {escaped(phrasing.effect_words(one))}",
    ]
    yield " ".join(part for part in parts if part)
    yield from _responses(scorecard, str(one["id"]))


def _not_audited(scorecard: Scorecard) -> Iterator[str]:
    yield "## Claims not audited"
    listed = [
        escaped(f"{one['statement']} ({one['locator']}). Why not: {one['reason']}")
        for one in scorecard.not_audited
    ]
    yield _items(listed) if listed else "None listed."


def _environment(scorecard: Scorecard) -> Iterator[str]:
    environment = scorecard.environment
    packages = ", ".join(f"{name} {v}" for name, v in sorted(environment.packages.items()))
    facts = {
        "Python": ", ".join(environment.python),
        "Platform": ", ".join(environment.platform),
        "Device": ", ".join(environment.device),
        "Threads": ", ".join(map(str, environment.threads)),
        "Packages": packages,
        "Revision": ", ".join(environment.revision),
        "Code": ", ".join(environment.code),
    }
    yield "## Environment"
    yield _items(f"**{name}:** {escaped(text or 'none recorded')}" for name, text in facts.items())
    if scorecard.custom:
        yield "Custom records, which feed no verdict:"
        yield _items(escaped(phrasing.custom_words(one)) for one in scorecard.custom)
    if scorecard.figures:
        titles = "; ".join(figure.title for figure in scorecard.figures)
        yield f"Figures, on the [page](scorecard.html): {escaped(titles)}."
