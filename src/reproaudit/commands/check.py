"""`reproaudit check`: every fault of an audit at once, with its place and remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from reproaudit.audit.catalog import REVIEW_FILE, RUN_FILE, Catalog, audits_in, entry_of
from reproaudit.audit.loading import Fault, faults_of_reviews, read_audit
from reproaudit.audit.loading.fault import Place
from reproaudit.audit.rules import BROKEN_LOG, RULES, Severity
from reproaudit.commands.consent import ask_to_run
from reproaudit.commands.output import print_json, say
from reproaudit.errors import SpecError, UsageError, did_you_mean
from reproaudit.results import read_lines

Form = Literal["text", "json", "sarif"]
"""The format in which faults are printed."""


def audit_files(named: Sequence[str], catalog: Catalog) -> list[Path]:
    """The audits that a command line names by slug, file or folder; every paper's if none.

    Raises:
        UsageError: on an unknown slug or folder, or a folder without audits.
    """
    if not named:
        return [entry.audit_file for entry in catalog.entries.values()]
    files: list[Path] = []
    for name in named:
        path = Path(name)
        if path.is_dir():
            found = audits_in(path)
            if not found:
                raise UsageError(f"{path}: no audit is in this folder; expected SLUG.yaml files.")
            files += found
        elif not path.suffix and not path.exists():
            if name not in catalog.entries:
                near = did_you_mean(name, catalog.entries)
                raise UsageError(
                    f"{name}: no such folder or file, and no paper of this name. {near} "
                    "Papers of your own: --audits DIR."
                )
            files.append(catalog[name].audit_file)
        else:
            files.append(path)
    return files


def check_files(
    files: Sequence[Path], form: Form, *, run: bool = False, trust: bool = False
) -> int:
    """Print the faults of audits; the exit code is 2 if one is an error, else 0.

    With ``run`` the modules are imported, and the audits are held against them.

    Raises:
        ConsentError: if a module would be imported and there is no consent.
        UsageError: if a library that a module needs is not installed.
    """
    if run:
        ask_to_run([one for one in map(entry_of, files) if one.code is not None], trust)
    faults = [fault for file in files for fault in _faults(file, run)]
    errors = sum(fault.severity is Severity.ERROR for fault in faults)
    if form == "json":
        print_json([_as_data(fault) for fault in faults])
    elif form == "sarif":
        from reproaudit.report.export.sarif import sarif_log

        print_json(sarif_log(faults))
    else:
        _print(faults, len(files), errors)
    return SpecError.exit_code if errors else 0


def _faults(file: Path, run: bool) -> list[Fault]:
    """The faults of an audit with its reviews and run file, or of one of these that is named."""
    if file.name.endswith(REVIEW_FILE):
        audit = file.with_name(f"{file.name.removesuffix(REVIEW_FILE)}.yaml")
        return faults_of_reviews(file, read_audit(audit)[0])
    run_file = file if file.name.endswith(RUN_FILE) else file.with_suffix(RUN_FILE)
    faults = list(_faults_of(file, run)) if run_file != file else []
    if run_file.is_file() or run_file == file:
        from reproaudit.repositories.run_file import check_run_file

        faults = [*faults, *check_run_file(run_file)]
    return faults


def _faults_of(file: Path, run: bool) -> Iterator[Fault]:
    """Yields the faults of an audit, then what is wrong with its log of results and its module."""
    audit, faults = read_audit(file)
    yield from faults
    yield from faults_of_reviews(entry_of(file).review_file, audit)
    log = entry_of(file).results_file
    for line, what in read_lines(log)[1]:
        yield Fault(str(log), Place(line, 1), (), what, RULES[BROKEN_LOG].remedy, BROKEN_LOG)
    if run and audit is not None:
        from reproaudit.commands.module_fit import module_faults

        yield from module_faults(file, entry_of(file), audit)


def _print(faults: Sequence[Fault], files: int, errors: int) -> None:
    for fault in faults:
        say(str(fault), style="red" if fault.severity is Severity.ERROR else "yellow")
    audits = "1 audit" if files == 1 else f"{files} audits"
    say(f"{audits}: {_count(errors, 'error')}, {_count(len(faults) - errors, 'warning')}")


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number or 'no'} {noun}s"


def _as_data(fault: Fault) -> dict[str, object]:
    return {
        "file": fault.file,
        "line": fault.place.line,
        "column": fault.place.column,
        "path": fault.path,
        "severity": fault.severity.value,
        "rule": fault.rule,
        "message": fault.message,
        "remedy": fault.remedy,
    }
