"""`reproaudit check --upgrade`: audits of schema 2, written in the short form beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reproaudit.audit import SHORT_FILE
from reproaudit.audit.catalog import Catalog
from reproaudit.audit.faults import Fault
from reproaudit.audit.loading import MAX_AUDIT_BYTES, read_as, read_audit
from reproaudit.audit.model import Audit
from reproaudit.audit.seeds import rule
from reproaudit.errors import SpecError, UsageError
from reproaudit.files import read_regular, write_whole
from reproaudit.service.check import audit_files, fault_data


@dataclass(frozen=True)
class Upgraded:
    """One audit that was written in the short form.

    Attributes:
        file: the new file.
        old: the file that it may take the place of.
        size: its lines, and those of the old one.
    """

    file: Path
    old: Path
    size: tuple[int, int]

    @property
    def lines(self) -> tuple[str, ...]:
        """What the command prints."""
        new, old = self.size
        return (f"wrote {self.file}: {new} lines for {old}. To use it: mv {self.file} {self.old}",)


@dataclass(frozen=True)
class Upgrades:
    """The audits that were written, and the errors of those that were not."""

    written: tuple[Upgraded, ...]
    faults: tuple[Fault, ...]

    @property
    def data(self) -> dict[str, object]:
        """What ``--json`` prints."""
        files = [{"file": str(one.file), "old": str(one.old)} for one in self.written]
        return {"written": files, "faults": list(map(fault_data, self.faults))}


def upgrade_audits(named: Sequence[str], catalog: Catalog) -> Upgrades:
    """Write audits, named by slug, file or folder, in the short form beside their files.

    Raises:
        UsageError: if none is named, or one has the short form already.
        SpecError: if the short form cannot say what an audit says.
    """
    if not named:
        raise UsageError("--upgrade: name the audits to write in the short form.")
    written: list[Upgraded] = []
    faults: list[Fault] = []
    for file in audit_files(named, catalog):
        text, found = upgrade(file)
        if text is None:
            faults += found
            continue
        new = write_whole(file.with_suffix(SHORT_FILE), text)
        before = read_regular(file, MAX_AUDIT_BYTES).count(b"\n")
        written.append(Upgraded(new, file, (text.count("\n"), before)))
    return Upgrades(tuple(written), tuple(faults))


def upgrade(file: Path) -> tuple[str | None, list[Fault]]:
    """Return an audit in the short form, or None and its faults.

    The text is read back: the audit that it holds is the same, with the same rules.
    """
    from reproaudit.audit.short.upgrade import in_order, upgraded

    _, document, _ = read_as(Audit, file, "an audit")
    if document is not None and document.is_expanded:
        raise UsageError(f"{file}: found schema 3; expected an audit of schema 2.")
    audit, faults = read_audit(file)
    if audit is None:
        return None, [fault for fault in faults if fault.severity == "error"]
    text = upgraded(audit)
    again, _ = read_audit(file, text)
    rules = [rule(audit, experiment, "paper") for experiment in audit.experiments]
    if again != in_order(audit) or rules != [rule(again, e, "paper") for e in again.experiments]:
        raise SpecError(f"{file}: found what the short form cannot say; keep schema 2.")
    return text, []
