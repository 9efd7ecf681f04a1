"""Faults of audits as SARIF 2.1.0, which code-review services show beside the changed lines.

Section numbers are those of the OASIS standard, Static Analysis Results Interchange Format
(SARIF) Version 2.1.0. An error has the level ``error``; a warning, which fails nothing, has the
level ``note`` (section 3.27.10).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from reproaudit import __version__
from reproaudit.audit.faults import REMEDIES, WARNINGS, Fault

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT = "ruleAndPath/v1"


def sarif_log(faults: Sequence[Fault]) -> dict[str, Any]:
    """Return a SARIF log with one run; files below the current folder have relative names."""
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver()},
                "columnKind": "unicodeCodePoints",
                "results": list(_results(faults, Path().resolve())),
            }
        ],
    }


def _driver() -> dict[str, Any]:
    rules = [
        {
            "id": rule,
            "shortDescription": {"text": remedy},
            "defaultConfiguration": {"level": _level(rule)},
        }
        for rule, remedy in REMEDIES.items()
    ]
    return {"name": "reproaudit", "version": __version__, "rules": rules}


def _level(rule: str) -> str:
    return "note" if rule in WARNINGS else "error"


def _results(faults: Iterable[Fault], root: Path) -> Iterable[dict[str, Any]]:
    index = {rule_id: i for i, rule_id in enumerate(REMEDIES)}
    seen: Counter[str] = Counter()
    for fault in faults:
        mark = f"{fault.rule} {Path(fault.file).name} {fault.path}"
        seen[mark] += 1
        location = {
            "artifactLocation": {"uri": _uri(fault.file, root)},
            "region": {"startLine": fault.place.line, "startColumn": fault.place.column},
        }
        yield {
            "ruleId": fault.rule,
            "ruleIndex": index[fault.rule],
            "level": _level(fault.rule),
            "message": {"text": fault.text},
            "locations": [{"physicalLocation": location}],
            "partialFingerprints": {FINGERPRINT: _fingerprint(mark, seen[mark])},
        }


def _uri(file: str, root: Path) -> str:
    """Return the address of a file; one elsewhere has an absolute URI (section 3.4.3)."""
    try:
        path = Path(file).resolve()
    except (OSError, ValueError):  # a name that no file can have
        return quote(file)
    if path.is_relative_to(root):
        return quote(path.relative_to(root).as_posix())
    return path.as_uri()


def _fingerprint(mark: str, occurrence: int) -> str:
    """Return the same for a fault that only moved to another line (section 3.27.17)."""
    text = mark if occurrence == 1 else f"{mark} {occurrence}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
