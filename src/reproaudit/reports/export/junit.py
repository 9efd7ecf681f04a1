"""A scorecard as JUnit XML, which continuous-integration services show as test results.

There is no standard; this is what Jenkins' xUnit plugin (its schema ``junit-10.xsd``), GitLab and
GitHub's reporters read alike: a test suite for each paper and tier, a test case for each claim. A
supported claim has passed; a contradicted or a vacuous one has failed; a technical failure is an
error; what is inconclusive or not tested was skipped, with the reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from reproaudit.judging.verdict import Verdict
from reproaudit.reports import phrasing
from reproaudit.reports.export.provenance import running_times
from reproaudit.scorecard import ClaimModel, Scorecard

_OUTCOMES: dict[str, str | None] = {
    Verdict.SUPPORTED: None,
    Verdict.CONTRADICTED: "failure",
    Verdict.VACUOUS: "failure",
    Verdict.TECHNICAL_FAILURE: "error",
    Verdict.INCONCLUSIVE: "skipped",
    Verdict.NOT_TESTED: "skipped",
}
"""The element that says how a test case came out; none if it has passed."""

_ILLEGAL = re.compile("[^\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold (section 2.2); also tabs and carriage returns, which readers change."""


def junit_xml(scorecards: Sequence[Scorecard]) -> str:
    """The scorecards as one XML document, a test suite for each."""
    suites = [_suite(card) for card in scorecards]
    root = ET.Element("testsuites", name="reproaudit")
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.attrib[count]) for suite in suites)))
    root.extend(suites)
    ET.indent(root)
    document = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n'


def _suite(card: Scorecard) -> ET.Element:
    found = Counter(_outcome(claim) for claim in card.claims)
    suite = ET.Element(
        "testsuite",
        name=_legal(f"{card.paper['slug']} ({card.tier})"),
        tests=str(len(card.claims)),
        failures=str(found["failure"]),
        errors=str(found["error"]),
        skipped=str(found["skipped"]),
        time=f"{card.environment.seconds:.3f}",
    )
    times = running_times(card)
    if times is not None:
        suite.set("timestamp", times[0].strftime("%Y-%m-%dT%H:%M:%S"))
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(card):
        ET.SubElement(properties, "property", name=name, value=_legal(value))
    for claim in card.claims:
        suite.append(_case(card, claim))
    return suite


def _properties(card: Scorecard) -> Iterator[tuple[str, str]]:
    yield "title", str(card.paper["title"])
    yield "tier", card.tier
    score = card.documentation
    yield (
        "documentation",
        f"{score.strict} of {score.of} variables by the card, {score.reviewed} as reviewed",
    )
    yield "coverage", phrasing.coverage_words(card)
    yield "chance", phrasing.chance_words(card)
    yield "not_audited", str(len(card.not_audited))


def _case(card: Scorecard, claim: ClaimModel) -> ET.Element:
    classname = f"{card.paper['slug']}.{claim.experiment}"
    case = ET.Element("testcase", name=_legal(claim.id), classname=_legal(classname))
    outcome = _outcome(claim)
    told = _legal("\n".join(_told(card, claim)))
    if outcome is None:
        ET.SubElement(case, "system-out").text = told
    else:
        part = phrasing.binding_part(claim)
        shown = phrasing.sentence(part) if part is not None else claim.why
        message = _legal(phrasing.clean(f"{phrasing.words(claim.verdict)}: {shown}"))
        ET.SubElement(case, outcome, type=claim.verdict, message=message).text = told
    return case


def _outcome(claim: ClaimModel) -> str | None:
    return _OUTCOMES.get(claim.verdict, "error")


def _told(card: Scorecard, claim: ClaimModel) -> Iterator[str]:
    """What a reader of the result is told of a claim, line by line."""
    yield phrasing.clean(f"{claim.statement} ({claim.locator})")
    yield phrasing.clean(f"verdict: {phrasing.words(claim.verdict)}, {claim.why}")
    yield phrasing.clean(f"evidence: {phrasing.evidence_words(claim)}")
    for part in claim.parts:
        yield phrasing.clean(f"{part.name}: {part.decision}, {phrasing.sentence(part)}")
    for name, control in phrasing.controls_of(claim):
        found = phrasing.control_words(card, claim, control)
        yield phrasing.clean(f"{name}: {control.decision or 'not judged'}, {found}")


def _legal(text: str) -> str:
    """The text with what XML cannot hold, or an editor would not show, replaced."""
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", phrasing.printable(text))
