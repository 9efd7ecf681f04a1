"""A scorecard as JUnit XML, which continuous-integration services show as test results.

There is no standard; this is what Jenkins' xUnit plugin (its schema ``junit-10.xsd``), GitLab and
GitHub's reporters read alike: a test suite for each paper and tier, a test case for each claim. How
a case came out, by its verdict, stands in the table of verdicts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from reproaudit.reports import phrasing, reviewing
from reproaudit.reports.export.provenance import running_times
from reproaudit.reports.formats import Exported, ExportRequest
from reproaudit.reports.numbers import sentence
from reproaudit.reports.printable import clean, printable
from reproaudit.scorecard.model import ClaimModel, Scorecard
from reproaudit.scorecard.verdicts import VERDICTS

_ILLEGAL = re.compile("[^\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold (section 2.2), and tabs and returns, which readers change."""


def junit_export(request: ExportRequest) -> Exported:
    """Returns one file with the scorecard's claims as test cases."""
    card = request.scorecard()
    return Exported({"junit.xml": junit_xml([card]).encode()}, card.tier)


def junit_xml(scorecards: Sequence[Scorecard]) -> str:
    """Returns the scorecards as one XML document, a test suite for each."""
    suites = [_suite(card) for card in scorecards]
    root = ET.Element("testsuites", name="reproaudit")
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.attrib[count]) for suite in suites)))
    root.extend(suites)
    ET.indent(root)
    document = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n'


def _suite(card: Scorecard) -> ET.Element:
    found = Counter(VERDICTS[claim.verdict].junit for claim in card.claims)
    suite = ET.Element(
        "testsuite",
        name=_legal(f"{card.paper['slug']} ({card.tier}){_by(card)}"),
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


def _by(card: Scorecard) -> str:
    """Returns who measured, if not we."""
    return "" if card.origin is None else f", measured by {card.origin.who}, not ours"


def _properties(card: Scorecard) -> Iterator[tuple[str, str]]:
    yield "title", str(card.paper["title"])
    yield "tier", card.tier
    yield "documentation", reviewing.score_words(card.documentation)
    yield "coverage", phrasing.coverage_words(card)
    yield "chance", phrasing.chance_words(card)
    yield "not_audited", str(len(card.not_audited))
    if card.origin is not None:
        yield "origin", phrasing.origin_words(card.origin)


def _case(card: Scorecard, claim: ClaimModel) -> ET.Element:
    classname = f"{card.paper['slug']}.{claim.experiment}"
    case = ET.Element("testcase", name=_legal(claim.id), classname=_legal(classname))
    outcome = VERDICTS[claim.verdict].junit
    told = _legal("\n".join(_told(card, claim)))
    if outcome is None:
        ET.SubElement(case, "system-out").text = told
    else:
        part = phrasing.deciding_part(claim)
        shown = sentence(part) if part is not None else claim.why
        message = _legal(clean(f"{phrasing.headline(claim)}: {shown}"))
        ET.SubElement(case, outcome, type=claim.verdict, message=message).text = told
    return case


def _told(card: Scorecard, claim: ClaimModel) -> Iterator[str]:
    """Yields what a reader of the result is told of a claim, line by line."""
    yield clean(f"{claim.statement} ({claim.locator})")
    yield clean(f"verdict: {phrasing.verdict_title(claim)}, {claim.why}")
    yield clean(f"evidence: {phrasing.evidence_words(claim)}")
    for part in claim.parts:
        yield clean(f"{part.name}: {part.decision}, {sentence(part)}")
    for name, control in phrasing.controls_of(claim):
        found = phrasing.control_words(card, claim, control)
        yield clean(f"{name}: {phrasing.decision_words(control.decision)}, {found}")


def _legal(text: str) -> str:
    """Returns the text with what XML cannot hold, or an editor would not show, replaced."""
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", printable(text))
