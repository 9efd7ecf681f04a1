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
MOST_BYTES = 2**26
"""Of a JSON file that is read for the digest that it names."""

_DIGEST = re.compile(r"[0-9a-f]{12,64}")
_SHOWN = 12


def standing_of(
    audit: Audit, audit_file: Path, results: Sequence[Path], tier: TierName
) -> RuleStanding:
    """Return whether an audit's rule stood before results.

    Args:
        audit_file: the file of the audit.
        results: the files of results; of a folder, whether there is a plan in it.
        tier: the tier at which they are judged.
    """
    rule = whole_rule(audit, tier)
    paths = [path.resolve() for path in results]
    named = [*_by_digest(audit, rule, paths)]
    files = [path for path in paths if path.is_file() and path.name != PLAN_FILE]
    by_git, why = _by_git(audit_file.resolve(), files, rule, tier)
    words = [(False, text) for stood, text in named if not stood]
    words += [] if by_git is None else [(by_git, why)]
    words += [(True, text) for stood, text in named if stood]
    stood, text = next((each for each in words if not each[0]), (words or [(None, "")])[0])
    if stood is None:
        return RuleStanding(
            rule=rule,
            stood=None,
            text=f"Whether the rule stood before the runs is not known: {why}.",
        )
    begin = "The rule stood before the runs" if stood else "The rule was moved after the runs"
    return RuleStanding(rule=rule, stood=stood, text=f"{begin}: {text}.")


# --- by digest ------------------------------------------------------------------------------------


def _by_digest(audit: Audit, rule: str, results: Sequence[Path]) -> Iterator[tuple[bool, str]]:
    """Yield for each file that names a digest whether it is the rule's, with words."""
    of_any_tier = {rule, *(whole_rule(audit, tier) for tier in JUDGED)}
    for file in dict.fromkeys(file for path in results for file in _naming(path)):
        named = _named_in(file, audit.paper.slug)
        if named and any(digest.startswith(named) for digest in of_any_tier):
            yield True, f"{file.name} names its digest {named[:_SHOWN]}"
        elif named:
            today = f"the digest of today's is {rule[:_SHOWN]}"
            yield False, f"{file.name} names another, {named[:_SHOWN]}, and {today}"


def _naming(path: Path) -> Iterator[Path]:
    """Yield the files that may name a digest: results in JSON, and the plan beside them."""
    yield (path if path.is_dir() else path.parent) / PLAN_FILE
    yield path


def _named_in(file: Path, slug: str) -> str | None:
    """The digest under `rule` of a JSON file; None of any other, or of another paper's plan."""
    if file.suffix != ".json" or not file.is_file():
        return None
    try:
        data = json.loads(read_regular(file, MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return None  # whoever reads it as results says what is wrong with it
    if not isinstance(data, dict) or data.get("slug", slug) != slug:
        return None
    named = data.get("rule")
    return named if isinstance(named, str) and _DIGEST.fullmatch(named) else None


# --- by git ---------------------------------------------------------------------------------------


def _by_git(
    audit_file: Path, results: Sequence[Path], rule: str, tier: TierName
) -> tuple[bool | None, str]:
    """Whether the rule's last commit comes before the results', with words; None if unknown."""
    checkout = _git(audit_file, "rev-parse", "--show-toplevel")
    if checkout is None or not _git(audit_file, "log", "-1", "--", audit_file.name):
        return None, f"git has no commit of {audit_file.name}"
    if any(_git(path, "rev-parse", "--show-toplevel") != checkout for path in results):
        return None, "the results are in another repository than the audit, or in none"
    added = [_first_commit(path) for path in results]
    first = [commit for commit in added if commit is not None]
    if not first:
        return None, "git has no commit of the results; commit the audit, then the results"
    moved = _last_moved(audit_file, rule, tier)
    if moved is None:
        return False, f"{audit_file.name} has another rule than in its last commit"
    if any(_is_before(commit, moved, audit_file) for commit in first):
        return False, f"commit {moved[:_SHOWN]} moved it, and results came before, in {_few(first)}"
    if len(first) < len(added) or any(map(_is_changed, results)):
        return None, "not all results are committed as they are"
    if all(_is_before(moved, commit, audit_file) for commit in first):
        return True, f"commit {moved[:_SHOWN]} has it, and the results came later, in {_few(first)}"
    return None, "the rule and the results came in one commit, or on different branches"


def _git(file: Path, *arguments: str) -> str | None:
    return git(file, "--literal-pathspecs", *arguments)


def _few(commits: Sequence[str]) -> str:
    return several([*dict.fromkeys(commit[:_SHOWN] for commit in commits)], 2)


def _first_commit(file: Path) -> str | None:
    """The commit that added a file; None if there is none."""
    added = _git(file, "log", "--diff-filter=A", "--format=%H", "--", file.name)
    return added.splitlines()[-1] if added else None


def _is_changed(file: Path) -> bool:
    """Whether a file is not as it was committed last."""
    return _git(file, "status", "--porcelain", "--", file.name) != ""


def _last_moved(audit_file: Path, rule: str, tier: TierName) -> str | None:
    """The commit since which the audit has had its rule; None if the last one has another."""
    which = ("--follow", "--format=%x00%H", "--name-only", "--", audit_file.name)
    moved = None
    for entry in (_git(audit_file, "log", *which) or "").split("\0"):
        commit, _, name = entry.partition("\n")
        if not commit:
            continue
        text = _git(audit_file, "show", f"{commit}:{name.strip()}")
        audit = None if text is None else read_audit(audit_file, text)[0]
        if audit is None or whole_rule(audit, tier) != rule:
            break
        moved = commit
    return moved


def _is_before(commit: str, other: str, file: Path) -> bool:
    """Whether one commit is an ancestor of another, and not the same."""
    ancestry = _git(file, "merge-base", "--is-ancestor", commit, other)
    return commit != other and ancestry is not None
