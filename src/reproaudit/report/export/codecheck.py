"""A scorecard as the configuration file of a CODECHECK, `codecheck.yml`.

The format is version 1.0 of https://codecheck.org.uk/spec/config/1.0/. A CODECHECK is signed by a
person who ran the work and looked at the outcome: that person's name is asked for, never made up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import yaml

from reproaudit.errors import UsageError
from reproaudit.report.export.provenance import ABOUT, identifiers, scorecard_files
from reproaudit.report.export.registry import Exported, ExportRequest
from reproaudit.report.model import Scorecard
from reproaudit.report.paragraph import closing
from reproaudit.report.printable import clean

CODECHECK_SPECIFICATION = "https://codecheck.org.uk/spec/config/1.0/"


@dataclass(frozen=True)
class Codechecker:
    """A person who checks.

    Attributes:
        name: the name.
        orcid: the ORCID iD as 0000-0002-1825-0097, without the address before it; None if none.
    """

    name: str
    orcid: str | None = None


@dataclass(frozen=True)
class Certificate:
    """The names, number and address under which a CODECHECK is published.

    Attributes:
        checkers: who checked; at least one.
        number: the register's number, as 2026-001; None if it has none.
        report: the address of the published report, best a DOI; None if it is not published.
    """

    checkers: tuple[Codechecker, ...]
    number: str | None = None
    report: str | None = None


def codecheck_export(request: ExportRequest) -> Exported:
    """Return the folder of a CODECHECK: the scorecard's files and `codecheck.yml`.

    Raises:
        UsageError: if nobody is named, or a name, number or address has not its form.
    """
    signed = request.signature
    certified = certificate(signed.codecheckers, signed.orcids, signed.certificate, signed.report)
    card = request.scorecard()
    files = {f"codecheck/{name}": data for name, data in scorecard_files(card).items()}
    about = {name: ABOUT[name.removeprefix("codecheck/")] for name in files}
    return Exported(
        {**files, "codecheck.yml": codecheck_yml(card, about, certified).encode()}, card.tier
    )


def certificate(
    names: Sequence[str], orcids: Sequence[str], number: str | None, report: str | None
) -> Certificate:
    """Return a certificate from what a command line says.

    Args:
        names: the codecheckers.
        orcids: their ORCID iDs in the same order; fewer if the last ones have none.
        number: the register's number.
        report: the report's address.

    Raises:
        UsageError: if nobody is named, or one of these has not its form.
    """
    named = [" ".join(name.split()) for name in names]
    if not any(named):
        raise UsageError(
            "a CODECHECK is signed by the person who checked, and found none. "
            "Name them: --codechecker 'NAME' [--orcid 0000-0002-1825-0097]."
        )
    if not all(named):
        raise UsageError("--codechecker: found an empty name; expected a person's.")
    if len(orcids) > len(named):
        raise UsageError(
            f"--orcid: found {len(orcids)} for {len(named)} codecheckers; expected one for each, "
            "in their order."
        )
    if number is not None and not re.fullmatch(r"\d{4}-\d{3,}", number, re.ASCII):
        raise UsageError(
            f"--certificate: found '{number}'; expected the register's number, such as 2026-001."
        )
    if report is not None and not re.fullmatch(r"https?://[^\s/]+/\S+", report):
        raise UsageError(
            f"--report-url: found '{report}'; expected an address, such as https://doi.org/10.5281/…"
        )
    checkers = tuple(
        Codechecker(name, None if text is None else orcid_id(text))
        for name, text in zip_longest(named, orcids)
    )
    return Certificate(checkers, number, report)


def orcid_id(text: str) -> str:
    """Return an ORCID iD without the address before it.

    Its last character checks the others (ISO 7064, MOD 11-2).

    Raises:
        UsageError: if it is none.
    """
    digits = re.fullmatch(
        r"(?:https?://orcid\.org/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])", text.strip(), re.ASCII
    )
    if digits is None:
        raise UsageError(
            f"--orcid: found '{text}'; expected four groups of four, such as 0000-0002-1825-0097."
        )
    plain = digits[1].replace("-", "")
    total = 0
    for digit in plain[:-1]:
        total = (total + int(digit)) * 2
    if "0123456789X"[(12 - total % 11) % 11] != plain[-1]:
        raise UsageError(f"--orcid: found '{text}', whose last character does not fit the others.")
    return digits[1]


def codecheck_yml(card: Scorecard, files: Mapping[str, str], certificate: Certificate) -> str:
    """Return the configuration file.

    Args:
        card: the scorecard.
        files: what was made again by running, each with what it is; named from the file's folder.
            The first is the report until one is published.
        certificate: who checked, and under what it is published.
    """
    authors = card.paper["authors"]
    paper: dict[str, Any] = {
        "title": card.paper["title"],
        "authors": [{"name": str(name)} for name in authors],
    }
    known = identifiers(card.paper)
    if known:
        paper["reference"] = known[0].url
    data: dict[str, Any] = {
        "version": CODECHECK_SPECIFICATION,
        "paper": paper,
        "manifest": [{"file": name, "comment": about} for name, about in files.items()],
        "codechecker": [_person(one) for one in certificate.checkers],
        "summary": codecheck_summary(card),
    }
    if card.records["ended"] is not None:
        data["check_time"] = str(card.records["ended"])[:19].replace("T", " ")
    if certificate.number is not None:
        data["certificate"] = certificate.number
    data["report"] = certificate.report or next(iter(files))
    return yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, explicit_start=True, width=100
    )


class _Dumper(yaml.SafeDumper):
    """Escapes Unicode's line breaks, which PyYAML writes as they are and reads as blanks."""

    def represent_str(self, text: str) -> yaml.ScalarNode:
        breaks = any(character in text for character in "\x85\u2028\u2029")
        return self.represent_scalar("tag:yaml.org,2002:str", text, style='"' if breaks else None)


_Dumper.add_representer(str, _Dumper.represent_str)


def _person(one: Codechecker) -> dict[str, str]:
    return {"name": one.name} if one.orcid is None else {"name": one.name, "ORCID": one.orcid}


def codecheck_summary(card: Scorecard) -> str:
    """Return the paragraph and the counts of outcomes."""
    return clean(
        f"{' '.join(card.summary)} {closing(card.claims)} There is no single answer for the paper; "
        "the report has each claim with its runs, its nulls and its certainty."
    )
