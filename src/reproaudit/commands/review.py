"""`reproaudit review`: a page, or orders on the command line, that write `SLUG.review.yaml`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from rich.console import Console

from reproaudit.audit.catalog import REVIEW_FILE, Entry, is_installed
from reproaudit.audit.loading import load_audit
from reproaudit.commands.output import print_json, say
from reproaudit.desk.edits import carry_out, sign_off
from reproaudit.desk.saving import Version, difference, read_version, save
from reproaudit.errors import UsageError

MISSING = "reproaudit review needs its extra. In a clone of reproaudit: pip install '.[review]'."


def file_to_edit(entry: Entry) -> Path:
    """The file that a review of a paper edits: never the copy inside the installed package.

    Of an audit that comes with reproaudit it is ``audits/<slug>.yaml`` in the nearest folder, at or
    above the working directory, that has one: the reviewer's own checkout.

    Raises:
        UsageError: if there is only the installed copy.
    """
    file, here = entry.audit_file, Path.cwd()
    name = file.name
    if entry.code is not None and entry.code.importable:  # it comes with reproaudit
        folders = (folder / "audits" for folder in (here, *here.parents))
        file = next((one for at in folders if (one := at / name).is_file()), file)
    if is_installed(file):
        raise UsageError(
            f"{file}: is the copy inside the installed package, which a review does not edit, and "
            f"no audits/{name} stands at or above {here}. Run the command in a checkout, or copy "
            "this file to a folder of yours and give --audits FOLDER."
        )
    return file


def review_audit(
    entry: Entry,
    reviewer: str | None,
    orders: Sequence[str],
    sign: bool,
    blind: bool,
    port: int,
    as_json: bool,
) -> int:
    """Carry out orders, or serve the page if there are none.

    Args:
        entry: the paper.
        reviewer: who reviews.
        orders: what `--set` said; see `reproaudit.desk.edits.carry_out`.
        sign: whether to sign the version off.
        blind: whether the page hides others' decisions until the reviewer's own.
        port: the port of the page; 0 for any free one.
        as_json: whether to print JSON.

    Raises:
        UsageError: if the reviewer has no name, or an order cannot be carried out.
        SpecError: if the audit or the review file has faults.
    """
    if reviewer is None or not reviewer.strip() or not reviewer.isprintable():
        raise UsageError("say who reviews: --reviewer NAME, a name, initials or a role.")
    reviewer = reviewer.strip()
    audit_file = file_to_edit(entry)
    file = audit_file.with_suffix(REVIEW_FILE)
    audit, before = load_audit(audit_file), read_version(file)
    say(f"edits {file}", stderr=as_json)
    if not orders and not sign:
        try:
            from reproaudit.desk.server import serve
            from reproaudit.desk.session import DeskSession
        except ImportError as error:
            raise UsageError(MISSING) from error
        serve(DeskSession(audit_file, file, reviewer, blind), port=port, tell=print)
        return 0
    reviews = before.reviews
    for order in orders:
        reviews = carry_out(reviews, audit, order, reviewer, date.today())
    if sign:
        reviews = sign_off(reviews, audit, reviewer, date.today())
    _show(before, save(before, reviews), as_json)
    return 0


def _show(before: Version, after: Version, as_json: bool) -> None:
    changes = difference(before, after)
    if as_json:
        print_json({"file": str(after.path), "changed": bool(changes), "diff": changes})
        return
    console = Console(highlight=False, markup=False, soft_wrap=True)
    for line in changes.splitlines():
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        console.print(_shown(line), style=style)
    console.print(f"saved {after.path}" if changes else f"{after.path}: nothing to change")


def _shown(line: str) -> str:
    """A line without characters that a terminal would obey."""
    return "".join(c if c.isprintable() or c == "\t" else f"\\u{ord(c):04x}" for c in line)
