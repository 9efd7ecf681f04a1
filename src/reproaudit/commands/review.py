"""`reproaudit review`: a page, or orders on the command line, that edit an audit's YAML."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from reproaudit.audit.disputes import version_of
from reproaudit.desk import acts
from reproaudit.desk.saving import Version, difference, read_version, save
from reproaudit.desk.script import carry_out
from reproaudit.errors import SpecError, UsageError

MISSING = "reproaudit review needs its extra: pip install 'reproaudit[review]'."


def reviewer_named(name: str | None) -> str:
    """The reviewer's name, if it is one.

    Raises:
        UsageError: if it is missing or blank.
    """
    if name is None or not name.strip() or not name.isprintable():
        raise UsageError("say who reviews: --reviewer NAME, a name, initials or a role.")
    return name.strip()


def carry_out_orders(
    file: Path, orders: Sequence[str], reviewer: str, *, sign: bool, as_json: bool
) -> int:
    """Carries out all orders or none, and prints what changed.

    Raises:
        UsageError, SpecError: if an order cannot be carried out; nothing is saved then.
    """
    before = read_version(file)
    text = before.text
    for order in orders:
        text = carry_out(text, order, reviewer, before.today)
    after = before.with_text(text)
    if sign:
        if after.audit is None:
            raise SpecError(f"{file}: a draft with errors is not signed off. Mend them first.")
        text = acts.sign_off(text, reviewer, version_of(after.audit), before.today)
    after = save(before, text)
    _show(before, after, as_json)
    return 0


def _show(before: Version, after: Version, as_json: bool) -> None:
    changes = difference(before, after)
    if as_json:
        data = {"file": str(after.path), "changed": bool(changes), "diff": changes}
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
        return
    console = Console(highlight=False, markup=False, soft_wrap=True)
    for line in changes.splitlines():
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        console.print(_shown(line), style=style)
    console.print(f"saved {after.path}" if changes else f"{after.path}: nothing to change")


def _shown(line: str) -> str:
    """A line without characters that a terminal would obey."""
    return "".join(c if c.isprintable() or c == "\t" else f"\\u{ord(c):04x}" for c in line)


def serve_desk(file: Path, reviewer: str, *, port: int, blind: bool) -> int:
    """Serves the desk on 127.0.0.1 until it is interrupted.

    Raises:
        UsageError: if the extra is not installed, or the port is in use.
        SpecError: if the file cannot be edited.
    """
    read_version(file)
    try:
        from reproaudit.desk.server import serve
    except ImportError as error:
        raise UsageError(MISSING) from error
    serve(file, reviewer, port=port, blind=blind, tell=print)
    return 0
