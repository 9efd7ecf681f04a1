"""A scorecard as the configuration file of a CODECHECK, `codecheck.yml`.

The format is version 2.0 of https://codecheck.org.uk/spec/config/2.0/: what its rules of the
severity "error" ask of the file (`rules-2.0.yml` in the repository codecheckers/register). Where
something that these need is not said, the file is of version 1.0, and what is missing is named. A
CODECHECK is signed by a person who ran the work and looked at the outcome: that person's name is
asked for, never made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import yaml

from reproaudit.errors import UsageError
from reproaudit.formats.scorecard import Scorecard
from reproaudit.report.export.registry import Exported, ExportRequest, identifiers
from reproaudit.report.files import PAGES
from reproaudit.report.parts import closing
from reproaudit.report.printable import clean

CODECHECK_SPECIFICATION = "https://codecheck.org.uk/spec/config/{}/"


def codecheck(request: ExportRequest) -> Exported:
    """Return a CODECHECK's folder: the scorecard's files and `codecheck.yml`.

    Raises:
        UsageError: if nobody is named, or a name, number or address is not of its form.
    """
    people = _people(request)
    card = request.scorecard()
    files = {f"codecheck/{page.file}": page.render(card).encode() for page in PAGES.values()}
    orcids = request.author_orcids
    authors = _named(card.paper.authors, orcids, "--author-orcid", "authors")
    said = _configuration(card, request, people, authors)
    missing = _missing(said, request)
    said["version"] = CODECHECK_SPECIFICATION.format("1.0" if missing else "2.0")
    text = yaml.safe_dump(said, sort_keys=False, allow_unicode=True, explicit_start=True, width=100)
    made = {**files, "codecheck.yml": text.encode()}
    return Exported(made, card.tier, missing=tuple(missing))


def _named(
    names: Iterable[str], orcids: Sequence[str], option: str, whose: str
) -> list[dict[str, str]]:
    called = [clean(name) for name in names]
    if len(orcids) > len(called):
        raise UsageError(
            f"{option}: found {len(orcids)} for {len(called)} {whose}; expected one for each, in "
            "their order; '' for somebody without."
        )
    return [
        {"name": name, **({"ORCID": _orcid_id(orcid, option)} if orcid else {})}
        for name, orcid in zip_longest(called, orcids)
    ]


def _missing(said: Mapping[str, Any], signed: ExportRequest) -> list[str]:
    """Return what version 2.0 requires and nobody has said, with the way to say it."""
    without = [author["name"] for author in said["paper"]["authors"] if "ORCID" not in author]
    missing = []
    if signed.certificate is None:
        missing.append("the register's number (--certificate 2026-001)")
    if signed.report is None:
        missing.append("the address of the published report (--report-url)")
    if "reference" not in said["paper"]:
        missing.append("a reference to the paper (its DOI or arXiv number in the audit)")
    if without:
        missing.append(f"ORCID iDs of {', '.join(without)} (--author-orcid, in the authors' order)")
    return missing


def _people(signed: ExportRequest) -> list[dict[str, str]]:
    """Who checked, each with an ORCID iD if there is one; all that is signed is looked at."""
    names = [clean(name) for name in signed.codecheckers]
    if not any(names):
        raise UsageError(
            "a CODECHECK is signed by the person who checked, and found none. "
            "Name them: --codechecker 'NAME' [--orcid 0000-0002-1825-0097]."
        )
    if not all(names):
        raise UsageError("--codechecker: found an empty name; expected a person's.")
    number = signed.certificate
    report = signed.report
    if number is not None and not re.fullmatch(r"\d{4}-\d{3,}", number, re.ASCII):
        raise UsageError(
            f"--certificate: found '{number}'; expected the register's number, such as 2026-001."
        )
    if report is not None and not re.fullmatch(r"https?://[^\s/]+/\S+", report):
        raise UsageError(
            f"--report-url: found '{report}'; expected an address, such as https://doi.org/10.5281/…"
        )
    return _named(names, signed.orcids, "--orcid", "codecheckers")


def _orcid_id(text: str, option: str) -> str:
    """An ORCID iD without its address; its last character checks the others (ISO 7064 MOD 11-2)."""
    digits = re.fullmatch(
        r"(?:https?://orcid\.org/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])", text.strip(), re.ASCII
    )
    if digits is None:
        raise UsageError(
            f"{option}: found '{text}'; expected four groups of four, such as 0000-0002-1825-0097."
        )
    plain = digits[1].replace("-", "")
    total = 0
    for digit in plain[:-1]:
        total = (total + int(digit)) * 2
    if "0123456789X"[(12 - total % 11) % 11] != plain[-1]:
        raise UsageError(f"{option}: found '{text}', whose last character does not fit the others.")
    return digits[1]


def _configuration(
    card: Scorecard,
    signed: ExportRequest,
    people: list[dict[str, str]],
    authors: list[dict[str, str]],
) -> dict[str, Any]:
    """What the file says; its first file is the report until one is published."""
    files = {f"codecheck/{page.file}": page.about for page in PAGES.values()}
    rule = "" if card.rule is None else f" {card.rule.text}"
    paper: dict[str, Any] = {"title": clean(card.paper.title), "authors": authors}
    if known := identifiers(card.paper):
        paper["reference"] = known[0].url
    data: dict[str, Any] = {
        "version": "",
        "paper": paper,
        "manifest": [{"file": name, "comment": about} for name, about in files.items()],
        "codechecker": people,
        "summary": clean(
            f"{' '.join(card.head.verdict)}{rule} {closing(card.head.counts.paper)} There is no "
            "single answer for the paper; the report has each claim with its runs, its controls "
            "and its certainty."
        ),
    }
    if card.records.ended is not None:
        data["check_time"] = f"{card.records.ended:%Y-%m-%d %H:%M:%S}"
    if signed.certificate is not None:
        data["certificate"] = signed.certificate
    data["report"] = signed.report or next(iter(files))
    return data
