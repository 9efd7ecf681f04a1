"""Holds a manifest and its tables against the protocol that `reproaudit import` wrote beside them.

The file says what was left out and chosen when the logs were read. Whoever takes that out of the
manifest, or changes a table, is told of. Without the file nothing is known: then measurements are
what their author says, as any others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reproaudit.bounded import decode_json, read_regular
from reproaudit.elsewhere.manifest import Manifest
from reproaudit.elsewhere.misfit import clipped

PROTOCOL = "import.json"
"""The name of the file."""
MOST_PROTOCOL_BYTES = 2**26
MOST_TABLE_BYTES = 2**30
MOST_CHANGED_NAMED = 5
"""Of files that were changed, so many are named."""


@dataclass(frozen=True)
class ImportedFolder:
    """A manifest with all that its import had said, and what was changed since.

    Attributes:
        manifest: the manifest; of runs left out, notes and formulas, it has those of both.
        changes: sentences on what was changed.
    """

    manifest: Manifest
    changes: tuple[str, ...] = ()


def as_imported(folder: Path, manifest: Manifest) -> ImportedFolder:
    """Returns a manifest with what its import said, if it was imported."""
    file = folder / PROTOCOL
    if not file.exists():
        return ImportedFolder(manifest)
    try:
        written = decode_json(read_regular(file, MOST_PROTOCOL_BYTES))["written"]
        before = Manifest.model_validate_json(json.dumps(written["manifest"]))
        tables = {str(name): str(digest) for name, digest in written["tables"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        said = f"{PROTOCOL} cannot be read, so that nothing says what was left out of the logs."
        return ImportedFolder(manifest, (said,))
    both = manifest.model_copy(
        update={
            "left_out": tuple(dict.fromkeys((*before.left_out, *manifest.left_out))),
            "noted": tuple(dict.fromkeys((*before.noted, *manifest.noted))),
            "taken_from": {**manifest.taken_from, **before.taken_from},
        }
    )
    return ImportedFolder(both, tuple(_changes(folder, before, manifest, tables)))


def _changes(
    folder: Path, before: Manifest, manifest: Manifest, tables: Mapping[str, str]
) -> Iterator[str]:
    fields = [
        name for name in Manifest.model_fields if getattr(before, name) != getattr(manifest, name)
    ]
    if fields:
        yield f"The manifest was changed after the import: {', '.join(fields)}."
    changed = [name for name, digest in tables.items() if _digest(folder, name) != digest]
    if changed:
        rest = len(changed) - MOST_CHANGED_NAMED
        more = f" and {rest} more" if rest > 0 else ""
        named = ", ".join(clipped(one, 80) for one in changed[:MOST_CHANGED_NAMED])
        yield f"Tables were changed after the import, or taken away: {named}{more}."


def _digest(folder: Path, name: str) -> str | None:
    """The SHA-256 of a file in the folder; None of any other, or if it cannot be read."""
    root = folder.resolve()
    try:
        file = (root / name).resolve()
        if file.is_relative_to(root):
            return hashlib.sha256(read_regular(file, MOST_TABLE_BYTES)).hexdigest()
    except (OSError, RuntimeError, ValueError):
        pass
    return None
