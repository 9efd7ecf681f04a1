"""A scorecard as a Research Object Crate: files with the metadata that archives and services read.

RO-Crate 1.1 (https://w3id.org/ro/crate/1.1) and its profile Process Run Crate 0.5
(https://w3id.org/ro/wfrun/process/0.5): the run of the experiments is an action of this program
that took the audit and made the scorecard. Nobody is named as its agent, since nobody is known.
The same scorecard and files give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

from reproaudit import __version__
from reproaudit.audit.model import Paper
from reproaudit.errors import StoreError, UsageError
from reproaudit.formats.scorecard import Scorecard
from reproaudit.report.export.registry import Exported, ExportRequest, identifiers
from reproaudit.report.files import PAGES
from reproaudit.report.making import made_words
from reproaudit.report.parts import closing
from reproaudit.report.printable import clean

METADATA = "ro-crate-metadata.json"
RO_CRATE_SPECIFICATION = "https://w3id.org/ro/crate/1.1"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
CRATE_CONTEXT = (
    f"{RO_CRATE_SPECIFICATION}/context",
    "https://w3id.org/ro/terms/workflow-run/context",
)

Entity = dict[str, Any]


class CrateFile(NamedTuple):
    """A file of the crate, not counting its metadata."""

    name: str
    """The path from the crate's folder."""
    content: bytes
    media_type: str
    about: str
    """Its content in a few words."""
    made: bool = True
    """Whether the run made it, or was given it."""


def crate(request: ExportRequest) -> Exported:
    """Return the crate: the scorecard's files, the audit, and the metadata.

    Raises:
        UsageError: if the licence is no address.
        StoreError: if the audit cannot be read.
    """
    url = request.license_url
    if url is not None and not url.startswith(("https://", "http://")):
        raise UsageError(
            f"--license: found '{url}'; expected an address, such as "
            "https://spdx.org/licenses/CC-BY-4.0."
        )
    card = request.scorecard()
    try:
        audit = request.audit_file.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read {request.audit_file}: {error.strerror or error}") from error
    files = [
        CrateFile(page.file, page.render(card).encode(), page.media_type, page.about)
        for page in PAGES.values()
    ]
    about = "The audit: the paper's claims, settings and documentation as data"
    files.append(CrateFile(request.audit_file.name, audit, "application/yaml", about, made=False))
    metadata = _metadata(card, files, url).encode()
    return Exported({**{file.name: file.content for file in files}, METADATA: metadata}, card.tier)


def _metadata(card: Scorecard, parts: list[CrateFile], url: str | None) -> str:
    action = f"#run-{card.paper.slug}-{card.tier}"
    article = list(_article(card.paper))
    graph: list[Entity] = [
        _entity(METADATA, "CreativeWork", about=_to("./"), conformsTo=_to(RO_CRATE_SPECIFICATION)),
        _root(card, parts, action, article[0]["@id"], url),
        _entity(PROFILE, "CreativeWork", name="Process Run Crate", version="0.5"),
        *([_entity(url, "CreativeWork", name=url, url=url)] if url else []),
        *map(_file, parts),
        *article,
        _action(card, parts, action),
        *_software(card),
    ]
    data = {"@context": list(CRATE_CONTEXT), "@graph": graph}
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _entity(identifier: str, kind: str, /, **fields: Any) -> Entity:
    """An entity with those of its fields that say something."""
    said = {name: value for name, value in fields.items() if value not in (None, [])}
    return {"@id": identifier, "@type": kind, **said}


def _to(identifier: str) -> dict[str, str]:
    return {"@id": identifier}


def _each(identifiers: Iterable[str]) -> Any:
    """Return references to entities; a single one without a list, as RO-Crate asks."""
    found = [_to(identifier) for identifier in identifiers]
    return found[0] if len(found) == 1 else found


def _root(
    card: Scorecard, files: list[CrateFile], action: str, article: str, license_url: str | None
) -> Entity:
    last = card.records.last
    said = f"What the paper claims, and what running it showed. {' '.join(card.head.verdict)}"
    no_licence = "No licence is stated. Ask whoever shares this crate."
    return _entity(
        "./",
        "Dataset",
        conformsTo=_to(PROFILE),
        name=clean(f"Reproducibility audit of {card.paper.title}, {card.tier} tier"),
        description=clean(f"{said} {closing(card.head.counts.paper)}"),
        datePublished=str(last.date()) if last is not None else "1970-01-01",
        license=no_licence if license_url is None else _to(license_url),
        about=_to(article),
        mentions=_to(action),
        hasPart=_each(quote(file.name) for file in files),
    )


def _file(file: CrateFile) -> Entity:
    return _entity(
        quote(file.name),
        "File",
        name=file.name,
        description=file.about,
        encodingFormat=file.media_type,
        contentSize=str(len(file.content)),
        sha256=hashlib.sha256(file.content).hexdigest(),
    )


def _article(paper: Paper) -> Iterator[Entity]:
    """Yields the paper, its authors and its identifiers; the paper first."""
    known = identifiers(paper)
    authors = [
        _entity(f"#author-{i}", "Person", name=clean(name))
        for i, name in enumerate(paper.authors, start=1)
    ]
    values = [
        _entity(
            f"#{identifier.scheme.lower()}",
            "PropertyValue",
            propertyID=identifier.scheme,
            value=identifier.value,
            url=identifier.url,
        )
        for identifier in known
    ]
    yield _entity(
        known[0].url if known else "#paper",
        "ScholarlyArticle",
        name=clean(paper.title),
        author=_each(author["@id"] for author in authors),
        datePublished=None if paper.year is None else str(paper.year),
        isPartOf=None if paper.venue is None else _to("#venue"),
        identifier=_each(value["@id"] for value in values),
        sameAs=_each(identifier.url for identifier in known[1:]),
    )
    if paper.venue is not None:
        yield _entity("#venue", "CreativeWork", name=clean(paper.venue))
    yield from authors
    yield from values


def _action(card: Scorecard, files: list[CrateFile], identifier: str) -> Entity:
    kept = card.records
    made = [f"{kept.count} records", *card.made.counted, *made_words(card)]
    made += [] if card.rule is None else [card.rule.text]
    action = _entity(
        identifier,
        "CreateAction",
        name=clean(f"Run and judge {card.paper.slug} at the {card.tier} tier"),
        description=clean(". ".join(made)),
        instrument=_to("#reproaudit"),
        object=_each(quote(file.name) for file in files if not file.made),
        result=_each(quote(file.name) for file in files if file.made),
        actionStatus="http://schema.org/CompletedActionStatus",
    )
    if kept.started is not None and kept.ended is not None:
        action["startTime"] = kept.started.isoformat()
        action["endTime"] = kept.ended.isoformat()
    return action


def _software(card: Scorecard) -> Iterator[Entity]:
    """Yields this program and the versions that made the records, all of them if they differ.

    Records of an older version do not name it; then the one that judged them stands for it.
    """
    needed = {name: ", ".join(found) for name, found in card.records.software.items()}
    own = needed.pop("reproaudit", __version__)
    names = {name: f"#software-{quote(name)}" for name in needed}
    program = _entity("#reproaudit", "SoftwareApplication", name="reproaudit", softwareVersion=own)
    yield {**program, "softwareRequirements": _each(names.values())}
    for name, version in needed.items():
        yield _entity(names[name], "SoftwareApplication", name=name, softwareVersion=version)
