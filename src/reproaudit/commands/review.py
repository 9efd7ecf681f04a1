"""`reproaudit review`: a page, or orders on the command line, that edit an audit's YAML."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from reproaudit.audit.catalog import Entry, is_installed
from reproaudit.audit.disputes import version_of
from reproaudit.commands.output import say
from reproaudit.desk import acts
from reproaudit.desk.saving import Version, difference, read_version, refuse_faults, save
from reproaudit.desk.script import carry_out
from reproaudit.errors import SpecError, UsageError

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
    file: Path,
    reviewer: str | None,
    orders: Sequence[str],
    sign: bool,
    blind: bool,
    port: int,
    as_json: bool,
) -> int:
    """Carries out orders, or serves the page if there are none.

    Args:
        file: the audit.
        reviewer: who reviews.
        orders: what `--set` said; see `reproaudit.desk.script`.
        sign: whether to sign the version off.
        blind: whether the page hides the others' words until the reviewer's own stand.
        port: the port of the page; 0 for any free one.
        as_json: whether to print JSON.

    Raises:
        UsageError: if the reviewer has no name, or an order cannot be carried out.
        SpecError: if the file cannot be edited, or an edit would leave a fault.
    """
    if reviewer is None or not reviewer.strip() or not reviewer.isprintable():
        raise UsageError("say who reviews: --reviewer NAME, a name, initials or a role.")
    if orders or sign:
        say(f"edits {file}", stderr=as_json)
        return _carry_out(file, orders, reviewer.strip(), sign, as_json)
    read_version(file)
    try:
        from reproaudit.desk.server import serve
    except ImportError as error:
        raise UsageError(MISSING) from error
    say(f"edits {file}")
    serve(file, reviewer.strip(), port=port, blind=blind, tell=print)
    return 0


def _carry_out(file: Path, orders: Sequence[str], reviewer: str, sign: bool, as_json: bool) -> int:
    """Carries out all orders or none, and prints what changed."""
    before = read_version(file)
    text = before.text
    for order in orders:
        text = carry_out(text, order, reviewer, before.today)
    after = before.with_text(text)
    if sign:
        refuse_faults(before, after)
        if left := acts.undecided(text, reviewer):
            raise UsageError(
                f"decide on all variables before you sign off. Open: {', '.join(left)}."
            )
        if after.audit is None:
            raise SpecError(f"{file}: a draft with errors is not signed off. Mend them first.")
        text = acts.sign_off(text, reviewer, version_of(after.audit), before.today)
    after = save(before, text)
    _show(before, after, reviewer, as_json)
    return 0


def _show(before: Version, after: Version, reviewer: str, as_json: bool) -> None:
    changes = difference(before, after, context=0)  # around it stands what others decided
    if as_json:
        data = {"file": str(after.path), "changed": bool(changes), "diff": changes}
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
        return
    console = Console(highlight=False, markup=False, soft_wrap=True)
    for line in changes.splitlines():
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        console.print(_shown(line), style=style)
    console.print(f"saved {after.path}" if changes else f"{after.path}: nothing to change")
    was, now = (acts.sign_off_of(one.text, reviewer) for one in (before, after))
    if was is not None and now is None:
        console.print(
            f"{reviewer}'s sign-off is taken back, too: it needs a decision on every variable"
        )


def _shown(line: str) -> str:
    """A line without characters that a terminal would obey."""
    return "".join(c if c.isprintable() or c == "\t" else f"\\u{ord(c):04x}" for c in line)
