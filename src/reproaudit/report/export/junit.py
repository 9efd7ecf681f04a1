"""A scorecard as JUnit XML, which continuous-integration services show as test results.

There is no standard; this is what Jenkins' xUnit plugin (its schema ``junit-10.xsd``), GitLab and
GitHub's reporters read alike: a test suite for each paper and tier, a test case for each claim. How
a case comes out is in the table of outcomes (`reproaudit.report.words.OUTCOMES`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from reproaudit.report.claims import ClaimText, claims_of
from reproaudit.report.documentation import documentation_of, documented_words
from reproaudit.report.export.registry import Exported, ExportRequest
from reproaudit.report.outline import claim_details
from reproaudit.report.printable import clean, printable
from reproaudit.report.words import look
from reproaudit.verdict import Scorecard

_ILLEGAL = re.compile("[^\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold (section 2.2), and tabs and returns, which readers change."""


def junit_export(request: ExportRequest) -> Exported:
    """Return one file with the scorecard's claims as test cases."""
    card = request.scorecard()
    return Exported({"junit.xml": junit_xml(card).encode()}, card.tier)


def junit_xml(card: Scorecard) -> str:
    """Return a scorecard as an XML document with one test suite."""
    suite = _suite(card)
    counts = {count: suite.attrib[count] for count in ("tests", "failures", "errors")}
    root = ET.Element("testsuites", {"name": "reproaudit", **counts})
    root.append(suite)
    ET.indent(root)
    document = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{document}\n'


def _suite(card: Scorecard) -> ET.Element:
    found = Counter(look(claim.outcome).junit for claim in card.of_paper)
    by = "" if card.origin is None else f", measured by {card.origin.who}, not ours"
    suite = ET.Element(
        "testsuite",
        name=_legal(f"{card.paper.slug} ({card.tier}){by}"),
        tests=str(len(card.of_paper)),
        failures=str(found["failure"]),
        errors=str(found["error"]),
        skipped=str(found["skipped"]),
        time=f"{card.records.seconds:.3f}",
    )
    if card.records.started is not None:
        suite.set("timestamp", f"{card.records.started:%Y-%m-%dT%H:%M:%S}")
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(card):
        ET.SubElement(properties, "property", name=name, value=_legal(value))
    for claim in claims_of(card):
        suite.append(_case(claim))
    return suite


def _properties(card: Scorecard) -> Iterator[tuple[str, str]]:
    found = documentation_of(card.audit, card.reviews)
    yield "title", card.paper.title
    yield "tier", card.tier
    yield "documentation", documented_words(found.by_reviewers, found.card, found.of)
    yield "not_audited", str(len(card.audit.not_audited))
    if card.origin is not None:
        yield "origin", f"{card.origin.who}, {card.origin.source}"


def _case(claim: ClaimText) -> ET.Element:
    answer = claim.answer
    classname = f"{claim.audit.paper.slug}.{claim.claim.experiment}"
    case = ET.Element("testcase", name=_legal(answer.id), classname=_legal(classname))
    came_out = look(answer.outcome).junit
    details = _legal("\n".join(claim_details(claim)))
    if came_out == "passed":
        ET.SubElement(case, "system-out").text = details
    else:
        message = _legal(clean(f"{answer.outcome}: {claim.effect}"))
        kind = answer.outcome.replace(" ", "_")
        ET.SubElement(case, came_out, type=kind, message=message).text = details
    return case


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", printable(text))
