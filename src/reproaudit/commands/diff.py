"""`reproaudit diff`: reads two scorecards, audits or revisions, and tells what changed."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Collection
from pathlib import Path

import yaml

from reproaudit.audit.catalog import Catalog, shipped_audits
from reproaudit.audit.loading import read_audit, read_text
from reproaudit.audit.loading.fault import has_errors
from reproaudit.audit.model import Audit
from reproaudit.audit.rules.rule import Severity
from reproaudit.commands.output import print_json, say, say_written, show
from reproaudit.diff.compare import compare
from reproaudit.diff.model import ComparedScorecard
from reproaudit.errors import SpecError, UsageError, closest
from reproaudit.reports.difference import comparison_document
from reproaudit.reports.files import OtherVersionError, read_scorecard, write_comparison
from reproaudit.reports.formats import TERMINAL
from reproaudit.scorecard.model import Scorecard

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
    formats: Collection[str],
    out: Path,
) -> int:
    """Writes what changed from one side to the other where asked to, and prints it.

    Args:
        before: one side.
        after: the other.
        audits: a user's folder of audits.
        as_json: whether to print JSON.
        formats: the formats to print and write.
        out: the folder of the files.

    Raises:
        UsageError: if a side cannot be found, or the two are of different papers.
        SpecError, StoreError: if a side cannot be read.
    """
    found = compare(read_side(before, audits), read_side(after, audits))
    written = write_comparison(found, out, formats)
    if as_json:
        print_json(found.model_dump(mode="json"))
    elif TERMINAL in formats:
        show(comparison_document(found))
    say_written(written, as_json=as_json)
    return 0


def read_side(text: str, audits: Path | None) -> ComparedScorecard:
    """Returns what an argument names.

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
    near = closest(text, entries)
    hint = f" Did you mean '{near}'?" if near else ""
    raise UsageError(f"{text}: no such file, folder or paper.{hint} {KNOWN}")


def _audit_in(path: Path) -> Audit:
    """Returns the audit of a file, whatever the file is called."""
    audit, faults = read_audit(path)
    if audit is not None:
        return audit
    others = [fault for fault in faults if fault.rule != OWN_NAME]
    if has_errors(others):
        raise SpecError("\n".join(str(f) for f in others if f.severity is Severity.ERROR))
    text = path.read_text(encoding="utf-8-sig")
    slug = yaml.safe_load(text)["paper"]["slug"]  # there: nothing else is wrong with the file
    return _audit_of(text, f"{slug}.yaml", str(path))


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
    """Returns the paper tier's scorecard of a checkout, beside its folder of audits."""
    file = audits.parent / "reports" / "paper" / slug / "scorecard.json"
    return _readable(file) if file.is_file() else None


def _readable(file: Path) -> Scorecard | None:
    """Returns a committed scorecard; None if another version of this program wrote it."""
    try:
        return read_scorecard(file)
    except OtherVersionError as error:
        say(f"only the audits are compared: {error}", stderr=True)
        return None


# --- git ------------------------------------------------------------------------------------------


def _at_revision(slug: str, revision: str, folder: Path) -> ComparedScorecard:
    """Returns a paper's audit and its committed scorecard as they were at a revision."""
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


def _scorecard_of(text: str, name: str) -> Scorecard | None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name.replace('/', '_')}-scorecard.json"
        file.write_text(text, encoding="utf-8")
        return _readable(file)


def _git(folder: Path, *arguments: str) -> str | None:
    """Returns what git prints; None if it fails."""
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
