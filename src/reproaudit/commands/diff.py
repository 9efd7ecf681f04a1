"""`reproaudit diff`: reads two scorecards, audits or revisions, and lays out what changed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

from rich.console import Console

from reproaudit.audit.catalog import Catalog, shipped_audits
from reproaudit.audit.loading import read_audit, read_text
from reproaudit.audit.loading.fault import has_errors
from reproaudit.audit.model import Audit
from reproaudit.audit.rules.rule import Severity
from reproaudit.diff import ComparedScorecard, compare
from reproaudit.errors import SpecError, UsageError, did_you_mean
from reproaudit.reports.difference import render_comparison, write_comparison
from reproaudit.reports.files import read_scorecard
from reproaudit.scorecard import Scorecard

KNOWN = (
    "Write a scorecard.json, a folder that holds one, an audit's YAML file, a paper's slug, or "
    "slug@revision."
)
OWN_NAME = "RA014"
"""The rule that a file bears its paper's name; a copy that is only compared may bear another."""


def show_diff(
    before: str,
    after: str,
    audits: Path | None,
    as_json: bool,
    formats: Collection[str] = ("terminal",),
    out: Path = Path("reports/diff"),
) -> int:
    """Prints what changed from one side to the other, and writes it where asked to.

    Args:
        before: one side.
        after: the other.
        audits: a user's folder of audits.
        as_json: whether to print JSON.
        formats: "terminal", "html" and "md"; the last two are files.
        out: the folder of the files.

    Raises:
        UsageError: if a side cannot be found, or the two are of different papers.
        SpecError, StoreError: if a side cannot be read.
    """
    found = compare(read_side(before, audits), read_side(after, audits))
    if as_json:
        data = found.model_dump(mode="json")
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    elif "terminal" in formats:
        render_comparison(found, Console())
    console = Console(stderr=as_json)
    for path in write_comparison(found, out, formats):
        console.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)
    return 0


def read_side(text: str, audits: Path | None) -> ComparedScorecard:
    """What an argument names.

    Args:
        text: a path, a slug, or slug@revision.
        audits: a user's folder of audits; for a revision, in the git checkout that is read.
    """
    path = Path(text)
    if path.is_dir():
        file = path / "scorecard.json"
        if not file.is_file():
            raise UsageError(f"{path}: holds no scorecard.json. {KNOWN}")
        return ComparedScorecard(text, None, read_scorecard(file))
    if path.is_file():
        if path.suffix in (".yaml", ".yml"):
            return ComparedScorecard(text, _audit_in(path), None)
        return ComparedScorecard(text, None, read_scorecard(path))
    match = re.fullmatch(r"([a-z][a-z0-9_]*)@(.+)", text)
    if match is not None:
        return _at_revision(match[1], match[2], audits or shipped_audits())
    entries = Catalog(audits).entries
    if text in entries:
        entry = entries[text]
        return ComparedScorecard(text, entry.audit(), _committed(entry.audit_file.parent, text))
    remedy = did_you_mean(text, entries)
    hint = f" {remedy}" if remedy.startswith("Did") else ""
    raise UsageError(f"{text}: no such file, folder or paper.{hint} {KNOWN}")


def _audit_in(path: Path) -> Audit:
    """The audit of a file, whatever the file is called."""
    audit, faults = read_audit(path)
    if audit is not None:
        return audit
    others = [fault for fault in faults if fault.rule != OWN_NAME]
    if has_errors(others):
        raise SpecError("\n".join(str(f) for f in others if f.severity is Severity.ERROR))
    slug = next(str(f.message).split("'")[1] for f in faults if f.rule == OWN_NAME)
    return _audit_of(path.read_text(encoding="utf-8-sig"), f"{slug}.yaml", str(path))


def _audit_of(text: str, file: str, name: str) -> Audit:
    audit, faults = read_text(text, file)
    if audit is None:
        errors = [f for f in faults if f.severity is Severity.ERROR]
        listed = "\n".join(str(fault) for fault in errors[:5])
        raise SpecError(
            f"{name}: this version of reproaudit cannot read the audit; {len(errors)} errors, "
            f"the first of them:\n{listed}"
        )
    return audit


def _committed(audits: Path, slug: str) -> Scorecard | None:
    """The paper tier's scorecard of a checkout, beside its folder of audits."""
    file = audits.parent / "reports" / "paper" / slug / "scorecard.json"
    return read_scorecard(file) if file.is_file() else None


# --- git ------------------------------------------------------------------------------------------


def _at_revision(slug: str, revision: str, folder: Path) -> ComparedScorecard:
    """A paper's audit and its committed scorecard as they were at a revision."""
    name = f"{slug}@{revision}"
    commit = _git(folder, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    if commit is None:
        raise UsageError(
            f"{name}: '{revision}' is no revision of the git checkout that holds {folder}. "
            "Write a branch, a tag or a commit; run it in a checkout."
        )
    commit = commit.strip()
    text = _git(folder, "show", f"{commit}:./{slug}.yaml")
    if text is None:
        raise UsageError(f"{name}: there was no {folder.name}/{slug}.yaml at that revision.")
    audit = _audit_of(text, f"{slug}.yaml", name)
    report = _git(folder, "show", f"{commit}:../reports/paper/{slug}/scorecard.json")
    return ComparedScorecard(name, audit, None if report is None else _scorecard_of(report, name))


def _scorecard_of(text: str, name: str) -> Scorecard:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name.replace('/', '_')}-scorecard.json"
        file.write_text(text, encoding="utf-8")
        return read_scorecard(file)


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints; None where it fails."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            check=False,
            timeout=60,
            encoding="utf-8",
        )
    except FileNotFoundError as error:
        raise UsageError("git is not installed, so that no revision can be read.") from error
    except (subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return done.stdout if done.returncode == 0 else None
