"""`reproaudit check`: every fault of an audit at once; and its short form, with --upgrade."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from reproaudit.audit import REVIEW_FILE, RUN_FILE, SHORT_FILE
from reproaudit.audit.catalog import Catalog, Entry, audits_in, entry_of
from reproaudit.audit.faults import BROKEN_LOG, MISFIT, REMEDIES, Fault, Loc, Place, Violation
from reproaudit.audit.loading import MAX_AUDIT_BYTES, read_as, read_audit, read_reviews
from reproaudit.audit.model import TIERS, Audit
from reproaudit.audit.seeds import rule
from reproaudit.cell import SettingValue
from reproaudit.consent import NOT_GIVEN, Permission
from reproaudit.errors import AuditError, SpecError, UsageError
from reproaudit.files import read_regular, write_whole


@dataclass(frozen=True)
class Checked:
    """The audits that were looked at, and every fault in them."""

    files: tuple[Path, ...]
    faults: tuple[Fault, ...]

    @property
    def errors(self) -> int:
        """The number of faults that refuse an audit; the others are warnings."""
        return sum(fault.severity == "error" for fault in self.faults)

    @property
    def data(self) -> list[dict[str, object]]:
        """What ``--json`` prints."""
        return [fault_data(fault) for fault in self.faults]


def check_audits(
    named: Sequence[str], catalog: Catalog, run: bool = False, permission: Permission = NOT_GIVEN
) -> Checked:
    """Find every fault of audits that are named by slug, file or folder; of all if none is.

    With `run` the papers' modules are imported, and the audits held against them.

    Raises:
        UsageError: on an unknown slug or folder, or a folder without audits.
        ConsentError: if a module may not be imported.
        ModuleNotFoundError: if a library that a module needs is not installed.
    """
    files = audit_files(named, catalog)
    if run:
        permission.require(entry for entry in map(entry_of, files) if entry.code is not None)
    faults = (fault for file in files for fault in faults_in(file, run))
    return Checked(tuple(files), tuple(faults))


def audit_files(named: Sequence[str], catalog: Catalog) -> list[Path]:
    """Return the audits that are named, or every paper's; errors as of `check_audits`."""
    if not named:
        return [entry.audit_file for entry in catalog.entries.values()]
    files: list[Path] = []
    for name in named:
        path = Path(name)
        if path.is_dir():
            audits = audits_in(path)
            if not audits:
                raise UsageError(f"{path}: no audit is in this folder; expected SLUG.yaml files.")
            files += audits
        elif not path.suffix and len(path.parts) == 1 and not path.exists():
            files.append(catalog[name].audit_file)
        else:
            files.append(path)
    return files


def faults_in(file: Path, run: bool) -> Iterator[Fault]:
    """Yield the faults of an audit with its reviews and run file, or of one of these."""
    if file.name.endswith(REVIEW_FILE):
        audit = file.with_name(f"{file.name.removesuffix(REVIEW_FILE)}.yaml")
        yield from read_reviews(file, read_audit(audit)[0])[1]
        return
    run_file = file if file.name.endswith(RUN_FILE) else file.with_suffix(RUN_FILE)
    if run_file != file:
        yield from _faults_of(file, run)
    if run_file.is_file() or run_file == file:
        from reproaudit.repositories.run_file import check_run_file

        yield from check_run_file(run_file)


def _faults_of(file: Path, run: bool) -> Iterator[Fault]:
    """Yields the faults of an audit, then what is wrong with its log of results."""
    entry = entry_of(file)
    audit, faults = (
        read_audit(file, more=partial(module_misfits, entry)) if run else read_audit(file)
    )
    yield from faults
    reviews = file.with_suffix(REVIEW_FILE)
    if reviews.exists():
        yield from read_reviews(reviews, audit)[1]
    log = entry.results_file
    if log.exists():
        from reproaudit.scorecard.history import read_lines

        for line, what in read_lines(log)[1]:
            yield Fault(str(log), Place(line, 1), (), what, REMEDIES[BROKEN_LOG], BROKEN_LOG)


def fault_data(fault: Fault) -> dict[str, object]:
    """Return a fault as ``--json`` shows it."""
    line, column = fault.place
    return {"file": fault.file, "line": line, "column": column, "path": fault.path} | {
        name: getattr(fault, name) for name in ("severity", "rule", "message", "remedy")
    }


def module_misfits(entry: Entry, audit: Audit) -> Iterator[Violation]:
    """Yield the places where an audit does not fit the module beside it, which is imported.

    Held against the types of each experiment's settings are the names, and the values of every
    run, control and alternative at every tier. Nothing is run. What a repository's command takes
    is the business of its run file. Errors are those of `load_experiments`.
    """
    if entry.code is None or entry.code.is_run_file:
        return
    from reproaudit.lab.settings import build_settings
    from reproaudit.run.modules import load_experiments

    try:
        experiments = load_experiments(entry.code)
    except AuditError as error:
        yield Violation(MISFIT, (), f"found {error}")
        return
    for name in audit.experiments:
        if name not in experiments:
            message = f"found no experiment '{name}' in {entry.code.file}"
            yield Violation(MISFIT, ("experiments", name), message, "", name, experiments)
            continue
        misfits: dict[Loc, dict[str, None]] = {}
        for loc, settings in _tried(audit, name):
            try:
                build_settings(experiments[name].settings, settings)
            except SpecError as error:
                misfits.setdefault(loc, {})[str(error)] = None
        for loc, errors in misfits.items():
            yield Violation(MISFIT, loc, f"found {'; '.join(errors)}")


def _tried(audit: Audit, name: str) -> Iterator[tuple[Loc, dict[str, SettingValue]]]:
    """Yields the settings of every run of an experiment, and of every alternative."""
    from reproaudit.audit.plan import plan

    for tier in TIERS:
        for _, batch in plan(audit, tier):
            if batch.experiment == name:
                yield ("experiments", name), batch.settings(audit)
    own = audit.experiments[name].settings
    for setting, stated in audit.settings_of(name).items():
        above: Loc = ("experiments", name) if setting in own else ()
        for number, value in enumerate(stated.alternatives):
            loc = (*above, "settings", setting, "alternatives", number)
            yield loc, audit.values_of(name, "paper", {setting: value})


# --- the short form -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Upgrades:
    """The files that were written, each with that which it may replace, and why others were not."""

    written: tuple[Mapping[str, str], ...]
    faults: tuple[Fault, ...]
    lines: tuple[str, ...]

    @property
    def data(self) -> dict[str, object]:
        """What ``--json`` prints."""
        return {"written": self.written, "faults": list(map(fault_data, self.faults))}


def upgrade_audits(named: Sequence[str], catalog: Catalog) -> Upgrades:
    """Write audits, named by slug, file or folder, in the short form beside their files.

    Raises:
        UsageError: if none is named, or one has the short form already.
        SpecError: if the short form cannot say what an audit says.
    """
    if not named:
        raise UsageError("--upgrade: name the audits to write in the short form.")
    written: list[Mapping[str, str]] = []
    faults: list[Fault] = []
    lines: list[str] = []
    for file in audit_files(named, catalog):
        text, found = upgrade(file)
        if text is None:
            faults += found
            continue
        new = write_whole(file.with_suffix(SHORT_FILE), text)
        before = read_regular(file, MAX_AUDIT_BYTES).count(b"\n")
        after = text.count("\n")
        lines.append(f"wrote {new}: {after} lines for {before}. To use it: mv {new} {file}")
        written.append({"file": str(new), "old": str(file)})
    return Upgrades(tuple(written), tuple(faults), (*map(str, faults), *lines))


def upgrade(file: Path) -> tuple[str | None, list[Fault]]:
    """Return an audit in the short form, which has the same rules, or None and its faults."""
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
