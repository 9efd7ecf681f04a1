"""Whether the rule that judges results stood before they were made: by git, or by its digest.

Git says so by the order of two commits: the one that last moved the rule, and the first one that
has the results, by whatever name. Results, or a `PLAN.json` beside them, may name the digest of the
rule that they were made under, as `reproaudit plan` prints it. What says that the rule was moved
counts more than what says that it stood.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
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
FEWEST_TELLING_BYTES = 100
"""Of a file whose content is known again by another name; shorter ones may be alike by chance."""

_DIGEST = re.compile(r"[0-9a-f]{12,64}")
_SHOWN = 12

_Evidence = tuple[bool | None, str]
"""Whether something says that the rule stood before the runs, None if it does not, and what."""


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
    folders = {file.parent: file for file in files}
    checkouts = {_git(file, "rev-parse", "--show-toplevel") for file in folders.values()}
    checkout = checkouts.pop() if len(checkouts) == 1 else None
    added = {} if checkout is None else _first_commits(Path(checkout), files)
    by_git = _by_git(audit_file.resolve(), checkout, added, files, rule, tier)
    by_digest = _by_digest(audit, rule, paths, {*added.values()})
    # git knows when results were committed, and not when they were made
    found = [(by_git, "the results in git"), *((each, "the runs") for each in by_digest)]
    for stood, begin in ((False, "The rule was moved after"), (True, "The rule stood before")):
        for (each, text), what in found:
            if each is stood:
                return RuleStanding(rule=rule, stood=stood, text=f"{begin} {what}: {text}.")
    why = "; ".join(text for (_, text), _ in found)
    since = _last_moved(audit_file.resolve(), rule, tier)
    known = "" if since is None else f" The rule is that of commit {since[:_SHOWN]}."
    text = f"Whether the rule stood before the runs is not known: {why}.{known}"
    return RuleStanding(rule=rule, stood=None, text=text)


def _by_digest(
    audit: Audit, rule: str, results: Sequence[Path], commits: Collection[str]
) -> Iterator[_Evidence]:
    """Yield for results in JSON, and the plan beside, whose digest they name.

    `commits` are those that the results came with.
    """
    of_any_tier = {rule, *(whole_rule(audit, tier) for tier in JUDGED)}
    plans = {path: (path if path.is_dir() else path.parent) / PLAN_FILE for path in results}
    for file in dict.fromkeys(file for path in results for file in (plans[path], path)):
        named = _named_in(file, audit.paper.slug)
        if named is None:
            continue
        if not any(digest.startswith(named) for digest in of_any_tier):
            today = f"the digest of today's is {rule[:_SHOWN]}"
            yield False, f"{file.name} names another, {named[:_SHOWN]}, and {today}"
        elif file.name == PLAN_FILE and _is_no_earlier(file, named, commits):
            yield None, f"{file.name} names its digest, and came no earlier than the results"
        else:
            yield True, f"{file.name} names its digest {named[:_SHOWN]}"


def _is_no_earlier(plan: Path, named: str, commits: Collection[str]) -> bool:
    """Whether git has a plan's digest from no earlier commit than results."""
    log = _git(plan, "log", "--format=%H", f"-S{named}", "--", plan.name) or ""
    return any(
        not _is_before(commit, each, plan) for commit in log.split()[-1:] for each in commits
    )


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
    audit_file: Path,
    checkout: str | None,
    added: Mapping[Path, str],
    results: Sequence[Path],
    rule: str,
    tier: TierName,
) -> _Evidence:
    """Hold the rule's last commit against those that added results, in the checkout of these."""
    own = _git(audit_file, "rev-parse", "--show-toplevel")
    if own is None or not _git(audit_file, "log", "-1", "--", audit_file.name):
        return None, f"git has no commit of {audit_file.name}"
    if checkout != own:
        return None, "the results are in another repository than the audit, or in none"
    first = [*dict.fromkeys(added.values())]
    if not first:
        return None, "git has no commit of the results"
    moved = _last_moved(audit_file, rule, tier)
    if moved is None:
        return False, f"{audit_file.name} has another rule than in its last commit"
    when = several([commit[:_SHOWN] for commit in first], 2)
    if any(_is_before(commit, moved, audit_file) for commit in first):
        return (
            False,
            f"commit {moved[:_SHOWN]} moved it, and results came before, in {when}",
        )
    if len(added) < len(set(results)) or _are_changed(Path(own), results):
        return None, "not all results are committed as they are"
    if all(_is_before(moved, commit, audit_file) for commit in first):
        return (
            True,
            f"commit {moved[:_SHOWN]} has it, and they came later, in {when}",
        )
    return None, "the rule and the results came in one commit, or on different branches"


def _git(file: Path, *arguments: str) -> str | None:
    return git(file, "--literal-pathspecs", "-c", "core.quotepath=false", *arguments)


def _first_commits(checkout: Path, files: Sequence[Path]) -> dict[Path, str]:
    """The oldest commit that has each file, or its content by another name; none of a new file."""
    which = ("--no-renames", "--raw", "--no-abbrev", "--diff-filter=AM", "--format=%x00%H")
    contents: dict[str, str] = {}
    first: dict[str, tuple[int, str]] = {}
    for age, (commit, changes) in enumerate(_entries(_git(checkout / ".git", "log", *which))):
        for change in changes:
            states, _, name = change.partition("\t")
            content = states.split()[3]
            contents.setdefault(name, content)
            first[name] = (age, commit)
            first[content] = (age, commit)
    added = {}
    for file in files:
        name = Path(os.path.relpath(file, checkout)).as_posix()
        if name in contents:
            is_telling = file.stat().st_size >= FEWEST_TELLING_BYTES
            _, added[file] = max(first[name], first[contents[name] if is_telling else name])
    return added


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
