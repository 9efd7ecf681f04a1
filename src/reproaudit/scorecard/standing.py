"""Whether the rule that judges results stood before they were made: by git, or by its digest.

Git says so by the order of two commits: the one that last moved the rule, and the one that added
the results. Results, or a `PLAN.json` beside them, may name the digest of the rule that they were
made under, as `reproaudit plan` prints it. What says that the rule was moved counts more than what
says that it stood.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from reproaudit.audit.loading import read_audit
from reproaudit.audit.model import Audit, TierName
from reproaudit.audit.rules import JUDGED
from reproaudit.audit.seeds import whole_rule
from reproaudit.files import git, read_regular
from reproaudit.formats.numbers import several
from reproaudit.formats.scorecard import RuleStanding

PLAN_FILE = "PLAN.json"
"""Where `reproaudit plan --json` is kept beside results."""
MOST_NAMING_BYTES = 2**26
"""Of a JSON file that is read for the digest that it names."""

_DIGEST = re.compile(r"[0-9a-f]{12,64}")
_SHOWN = 12


def standing_of(
    audit: Audit, audit_file: Path, results: Sequence[Path], tier: TierName
) -> RuleStanding:
    """Return whether an audit's rule stood before results.

    Args:
        results: the files of results; of a folder, whether there is a plan in it.
    """
    rule = whole_rule(audit, tier)
    paths = [path.resolve() for path in results]
    files = [path for path in paths if path.is_file() and path.name != PLAN_FILE]
    found = [*_by_digest(audit, rule, paths)]
    by_git, why = _by_git(audit_file.resolve(), files, rule, tier)
    if by_git is not None:
        found.insert(0, (by_git, why))
    for stood, begin in ((False, "The rule was moved after"), (True, "The rule stood before")):
        for each, text in found:
            if each is stood:
                return RuleStanding(rule=rule, stood=stood, text=f"{begin} the runs: {text}.")
    text = f"Whether the rule stood before the runs is not known: {why}."
    return RuleStanding(rule=rule, stood=None, text=text)


def _by_digest(audit: Audit, rule: str, results: Sequence[Path]) -> Iterator[tuple[bool, str]]:
    """Yield for results in JSON, and the plan beside, whose digest they name, with words."""
    of_any_tier = {rule, *(whole_rule(audit, tier) for tier in JUDGED)}
    plans = {path: (path if path.is_dir() else path.parent) / PLAN_FILE for path in results}
    for file in dict.fromkeys(file for path in results for file in (plans[path], path)):
        named = _named_in(file, audit.paper.slug)
        if named and any(digest.startswith(named) for digest in of_any_tier):
            yield True, f"{file.name} names its digest {named[:_SHOWN]}"
        elif named:
            today = f"the digest of today's is {rule[:_SHOWN]}"
            yield False, f"{file.name} names another, {named[:_SHOWN]}, and {today}"


def _named_in(file: Path, slug: str) -> str | None:
    """The digest under `rule` of a JSON file; None of any other, or of another paper's plan."""
    if file.suffix != ".json" or not file.is_file():
        return None
    try:
        data = json.loads(read_regular(file, MOST_NAMING_BYTES))
    except (OSError, ValueError, RecursionError):
        return None  # whoever reads it as results says what is wrong with it
    if not isinstance(data, dict) or data.get("slug", slug) != slug:
        return None
    named = data.get("rule")
    return named if isinstance(named, str) and _DIGEST.fullmatch(named) else None


def _by_git(
    audit_file: Path, results: Sequence[Path], rule: str, tier: TierName
) -> tuple[bool | None, str]:
    """Whether the rule's last commit comes before the results', with words; None if unknown."""
    checkout = _git(audit_file, "rev-parse", "--show-toplevel")
    if checkout is None or not _git(audit_file, "log", "-1", "--", audit_file.name):
        return None, f"git has no commit of {audit_file.name}"
    folders = {file.parent: file for file in results}
    if any(_git(file, "rev-parse", "--show-toplevel") != checkout for file in folders.values()):
        return None, "the results are in another repository than the audit, or in none"
    added = _first_commits(Path(checkout), results)
    first = [*dict.fromkeys(added.values())]
    if not first:
        return None, "git has no commit of the results; commit the audit, then the results"
    moved = _last_moved(audit_file, rule, tier)
    if moved is None:
        return False, f"{audit_file.name} has another rule than in its last commit"
    when = several([commit[:_SHOWN] for commit in first], 2)
    if any(_is_before(commit, moved, audit_file) for commit in first):
        return False, f"commit {moved[:_SHOWN]} moved it, and results came before, in {when}"
    if len(added) < len(set(results)) or _are_changed(Path(checkout), results):
        return None, "not all results are committed as they are"
    if all(_is_before(moved, commit, audit_file) for commit in first):
        return True, f"commit {moved[:_SHOWN]} has it, and the results came later, in {when}"
    return None, "the rule and the results came in one commit, or on different branches"


def _git(file: Path, *arguments: str) -> str | None:
    return git(file, "--literal-pathspecs", "-c", "core.quotepath=false", *arguments)


def _first_commits(checkout: Path, files: Sequence[Path]) -> dict[Path, str]:
    """The commit that added each file; nothing of a file that none did."""
    folders = sorted({str(file.parent) for file in files})
    which = ("--diff-filter=A", "--format=%x00%H", "--name-only", "--", *folders)
    added = {}
    for commit, names in _entries(_git(checkout / ".git", "log", *which)):
        added.update(dict.fromkeys((checkout / name for name in names), commit))
    return {file: added[file] for file in files if file in added}


def _entries(log: str | None) -> Iterator[tuple[str, list[str]]]:
    """Yield each commit of a log, the last first, with the names of its files."""
    for entry in (log or "").split("\0"):
        commit, *names = entry.split("\n")
        if commit:
            yield commit, [name for name in names if name]


def _are_changed(checkout: Path, files: Sequence[Path]) -> bool:
    """Whether a file is not as it was committed last."""
    folders = sorted({str(file.parent) for file in files})
    changed = _git(checkout / ".git", "diff", "--name-only", "HEAD", "--", *folders)
    return changed is None or not {checkout / n for n in changed.splitlines()}.isdisjoint(files)


def _last_moved(audit_file: Path, rule: str, tier: TierName) -> str | None:
    """The commit since which the audit has had its rule; None if the last one has another."""
    which = ("--follow", "--format=%x00%H", "--name-only", "--", audit_file.name)
    moved = None
    for commit, names in _entries(_git(audit_file, "log", *which)):
        text = _git(audit_file, "show", f"{commit}:{names[-1]}") if names else None
        audit = None if text is None else read_audit(audit_file, text)[0]
        if audit is None or whole_rule(audit, tier) != rule:
            break
        moved = commit
    return moved


def _is_before(commit: str, other: str, file: Path) -> bool:
    """Whether one commit is an ancestor of another, and not the same."""
    ancestry = _git(file, "merge-base", "--is-ancestor", commit, other)
    return commit != other and ancestry is not None
