"""A scorecard as the summary that reports of the ML Reproducibility Challenge begin with.

The challenge's template has six sections, named in `SECTIONS`
(https://reproml.org, earlier https://paperswithcode.com/rc2022). They are filled with what the
scorecard and the audit say. What only the authors of a report know is left as a line that begins
with `TO_WRITE`: nothing is made up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from reproaudit.audit.documentation import UNSCORED
from reproaudit.reports import findings, phrasing
from reproaudit.reports.formats import Exported, ExportRequest
from reproaudit.reports.markdown import escaped
from reproaudit.reports.numbers import counted, ranges, value_words
from reproaudit.scorecard.model import ClaimModel, Scorecard

TO_WRITE = "> **To be written:**"
"""The beginning of each line that a person has to replace."""


def mlrc_export(request: ExportRequest) -> Exported:
    """Returns one Markdown file with the summary."""
    card = request.scorecard()
    return Exported({"mlrc-summary.md": mlrc_summary(card).encode()}, card.tier)


def mlrc_summary(card: Scorecard) -> str:
    """Returns the summary as Markdown."""
    blocks = [f"# Reproducibility summary: {escaped(card.paper['title'])}"]
    blocks.append(escaped(phrasing.citation(card.paper)))
    for title, section in SECTIONS.items():
        blocks += [f"## {title}", *section(card)]
    return "\n\n".join(blocks) + "\n"


def _to_write(what: str) -> str:
    return f"{TO_WRITE} {what}"


def _list(items: Iterator[str]) -> Iterator[str]:
    """Yields one block, a list; nothing if there are no items."""
    lines = [f"- {item}" for item in items]
    if lines:
        yield "\n".join(lines)


# --- the sections ---------------------------------------------------------------------------------


def _scope(card: Scorecard) -> Iterator[str]:
    listed = len(card.claims) + len(card.not_audited)
    yield (
        f"Of {counted(listed, 'claim')} that the audit lists, {len(card.claims)} "
        f"{'is' if len(card.claims) == 1 else 'are'} put to the test:"
    )
    yield from _list(f"{escaped(one.statement)} ({escaped(one.locator)})" for one in card.claims)
    if card.not_audited:
        yield "Left out:"
        yield from _list(
            f"{escaped(one['statement'])} ({escaped(one['locator'])}): {escaped(one['reason'])}"
            for one in card.not_audited
        )


def _methodology(card: Scorecard) -> Iterator[str]:
    if card.origin is not None:
        yield escaped(phrasing.origin_words(card.origin))
        if card.origin.remarks:
            yield "What stands out in these measurements:"
            yield from _list(map(escaped, card.origin.remarks))
    else:
        yield (
            "An experiment that is not given the claims was run, and what it measured was judged "
            f"by rules that the audit states, at the {escaped(card.tier)} tier: "
            f"{escaped(phrasing.records_words(card))}."
        )
    controls = sum(len(one.controls) for one in card.claims)
    constructed = sum(one.positive_control is not None for one in card.claims)
    seeds = sorted({seed for one in card.claims for seed in one.seeds})
    judged = f"over {counted(len(seeds), 'seed')} ({ranges(seeds)})" if seeds else "over no seeds"
    yield (
        f"Each claim is judged {judged} against a bound whose reason is stated, beside "
        f"{counted(controls, 'control')} without the claimed mechanism and "
        f"{counted(constructed, 'constructed solution')} in all. "
        f"{escaped(phrasing.upper_first(phrasing.chance_words(card)))}."
    )
    yield from _list(_means(card))
    yield _to_write("why this approach was taken, and what of the authors' code was used.")


def _means(card: Scorecard) -> Iterator[str]:
    """Yields hardware and software, as far as the records name them."""
    environment = card.environment
    made_on = [*environment.device, *environment.platform]
    if made_on:
        threads = " or ".join(map(str, environment.threads))
        with_threads = f", threads: {threads}" if threads else ""
        yield f"Hardware: {escaped(', '.join(made_on))}{with_threads}"
    versions = {"python": ", ".join(environment.python), **environment.packages}
    known = [f"{name} {version}" for name, version in versions.items() if version]
    if known:
        yield f"Software: {escaped(', '.join(known))}"


def _results(card: Scorecard) -> Iterator[str]:
    counts = phrasing.counts_words(phrasing.verdict_counts(card.claims))
    yield escaped(
        f"{phrasing.upper_first(counts)}. {phrasing.upper_first(phrasing.coverage_words(card))}."
    )
    yield from _list(f"{escaped(one.statement)} {_found(one)}" for one in card.claims)
    yield _to_write("how these numbers compare with those that the paper prints.")


def _found(claim: ClaimModel) -> str:
    title = phrasing.upper_first(phrasing.headline(claim))
    evidence = phrasing.evidence_label(claim)
    said = escaped(phrasing.claim_sentence(claim))
    return f"**{escaped(title)}.** {said} ({escaped(evidence)})"


def _documented(card: Scorecard, wanted: bool) -> list[str]:
    """Returns the scored variables that are documented as reviewed, or those that are not."""
    variables = card.documentation.variables
    return [one.name for one in variables if one.name not in UNSCORED and one.documented == wanted]


def _easy(card: Scorecard) -> Iterator[str]:
    if told := _documented(card, True):
        yield f"The paper documents, as reviewed: {escaped(', '.join(told))}."
    yield _to_write("what took little time: getting the code or data, understanding, running.")


def _difficult(card: Scorecard) -> Iterator[str]:
    if missing := _documented(card, False):
        yield f"The paper does not document, as reviewed: {escaped(', '.join(missing))}."
    if card.ledger:
        yield "Settings that the paper leaves open or that its sources contradict:"
        yield from _list(
            f"{escaped(one.setting)} taken as {escaped(value_words(one.value))}: {escaped(one.why)}"
            for one in card.ledger
        )
    if card.findings:
        yield "Found on the way:"
        yield from _list(
            f"{escaped(one['kind'])}: {escaped(one['statement'])}" for one in card.findings
        )
    failed = [one for one in card.records if one.status != "completed"]
    if failed:
        yield f"{counted(len(failed), 'run')} of {len(card.records)} diverged or failed."
    yield _to_write("what took more time than expected, and why.")


def _communication(card: Scorecard) -> Iterator[str]:
    answers = (escaped(findings.response_words(one)) for one in card.responses)
    if card.responses:
        yield "Answers that the audit holds:"
        yield from _list(answers)
    else:
        yield "The audit holds no answer of the authors."
    yield _to_write("whether the authors were asked, what, when, and what they answered.")


SECTIONS: Mapping[str, Callable[[Scorecard], Iterator[str]]] = {
    "Scope of Reproducibility": _scope,
    "Methodology": _methodology,
    "Results": _results,
    "What was easy": _easy,
    "What was difficult": _difficult,
    "Communication with original authors": _communication,
}
"""The challenge's sections, in its order."""
