"""Reading and saving a review file: whole or not at all, and never over somebody else's change.

What is written follows from what was read under the same lock, so that no save is lost between
programs that save.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path

import yaml

from reproaudit.audit import REVIEW_FILE
from reproaudit.audit.catalog import Entry, is_installed
from reproaudit.audit.document import read_file
from reproaudit.audit.faults import Faults
from reproaudit.audit.loading import MAX_AUDIT_BYTES, load_audit, load_reviews
from reproaudit.audit.model import Reviews
from reproaudit.desk.edits import carry_out, sign_off
from reproaudit.errors import SpecError, UsageError
from reproaudit.running.files import locked, write_whole

HEAD = "# Reviewers decide here; `reproaudit review` and the desk write this file whole.\n"


def files_to_review(entry: Entry) -> tuple[Path, Path]:
    """Return the audit and the file of its reviews: never those in the installed package.

    Of an audit that comes with reproaudit it is ``audits/<slug>.yaml`` in the nearest folder, at or
    above the working directory, that has one: the reviewer's own checkout.

    Raises:
        UsageError: if there is only the installed copy.
    """
    file = entry.audit_file
    here = Path.cwd()
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
    return file, file.with_suffix(REVIEW_FILE)


@dataclass(frozen=True)
class Version:
    """What a review file says.

    Attributes:
        path: the file, whether it exists or not.
        text: what it holds; empty where there is no file.
        reviews: what it says.
    """

    path: Path
    text: str
    reviews: Reviews


def read_version(path: Path) -> Version:
    """Read a review file, once; an empty version where there is none.

    Raises:
        SpecError: if it has faults.
    """
    if not path.exists():
        return Version(path, "", Reviews())
    faults = Faults(str(path))
    text = read_file(path, MAX_AUDIT_BYTES, faults)
    if text is None:
        raise SpecError("\n".join(map(str, faults.in_order())))
    return Version(path, text, load_reviews(path, text=text))


def save(path: Path, edit: Callable[[Reviews], Reviews]) -> tuple[Version, Version]:
    """Save what an edit makes of a review file; nobody else saves between reading and writing.

    A symbolic link stays a link: the file behind it is replaced.

    Args:
        path: the file.
        edit: what the file is to say, from what it says.

    Returns:
        What the file said, and what it says now; the same version if nothing changed.

    Raises:
        SpecError: if the file has faults.
        StoreError, TechnicalError: if it cannot be written.
    """
    file = Path(os.path.realpath(path))
    with locked(file.parent):
        before = read_version(file)
        reviews = edit(before.reviews)
        if reviews == before.reviews:
            return before, before
        after = Version(file, written(reviews), reviews)
        write_whole(file, after.text, durable=True)
    return before, after


def written(reviews: Reviews) -> str:
    """Return the YAML of a review file, in a fixed order."""
    data = reviews.model_dump(exclude_none=True, exclude_defaults=True)
    data = {"schema_version": reviews.schema_version, **{k: v for k, v in data.items() if v}}
    text = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return HEAD + text


class _Dumper(yaml.SafeDumper):
    """Writes tuples as lists and words of a fixed set as text."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        """Write equal entries out."""
        return True


_Dumper.add_representer(tuple, lambda dumper, data: dumper.represent_list(data))
_Dumper.add_multi_representer(StrEnum, lambda dumper, data: dumper.represent_str(data.value))


def difference(before: Version, after: Version) -> str:
    """Return the unified diff from one version to another; empty if they are the same."""
    old, new = (one.text.splitlines(keepends=True) for one in (before, after))
    name = before.path.name
    return "".join(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", n=0))


def review_audit(
    audit_file: Path, file: Path, reviewer: str, orders: Iterable[str], sign: bool
) -> str:
    """Carry out orders, sign the version off if asked, and save; return what changed, as a diff.

    Args:
        audit_file: the audit.
        file: the file of its reviews.
        reviewer: who reviews.
        orders: what `--set` said; see `reproaudit.desk.edits.carry_out`.
        sign: whether to sign the version off.

    Raises:
        UsageError: if an order cannot be carried out.
        SpecError: if the audit or the review file has faults.
    """
    audit = load_audit(audit_file)
    today = date.today()

    def carried_out(reviews: Reviews) -> Reviews:
        for order in orders:
            reviews = carry_out(reviews, audit, order, reviewer, today)
        return sign_off(reviews, audit, reviewer, today) if sign else reviews

    return difference(*save(file, carried_out))
