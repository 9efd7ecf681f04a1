"""Consent to run code that does not come with reproaudit: a paper's module in a user's folder.

Such code can do whatever the user can; what runs it asks a `Permission` first. Consent belongs
to a hash over every Python file of the module's folder (`reproaudit.audit.sources`), since the
module may import any of them, and of commands (``<slug>.run.yaml``) to the run file's, which holds
the pin of the source. The trust file lists a hash a line: ``reproaudit/trust`` in the user's
configuration folder, or the file that the environment variable ``REPROAUDIT_TRUST_FILE`` names.
``REPROAUDIT_TRUST=1`` allows everything, for containers and CI.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_config_path

from reproaudit.audit.catalog import Entry, Module
from reproaudit.audit.sources import sources_in, sources_of
from reproaudit.errors import StoreError, UsageError

TRUST_FILE_VARIABLE = "REPROAUDIT_TRUST_FILE"


class ConsentError(UsageError):
    """Foreign code that nobody has allowed to run."""


@dataclass(frozen=True)
class ForeignCode:
    """Code that is not shipped: its file, its SHA-256, and what it is in words."""

    file: Path
    digest: str
    name: str

    @property
    def about(self) -> str:
        """Its words, with the beginning of its hash."""
        return f"{self.name} (sha256 {self.digest[:16]}…)"


def foreign_code(module: Module) -> ForeignCode | None:
    """Return the foreign code that importing a paper's module would run; None for a shipped one.

    A UsageError if a file of its folder cannot be read; a SpecError if the module links out of it.
    """
    if module.importable:
        return None
    if not module.is_run_file:
        return _with_folder(module.file, sources_of(module), module.folder)
    with _readable():
        digest = hashlib.sha256(module.file.read_bytes()).hexdigest()
    name = f"{module.file} with its commands ({_commands(module)})"
    return ForeignCode(module.file, digest, name)


def _commands(module: Module) -> str:
    from reproaudit.repositories.run_file import described  # slow, and seldom needed

    return described(module.file)


def _with_folder(file: Path, files: Sequence[Path], folder: Path) -> ForeignCode:
    """A file of a folder, with a hash over all Python files there."""
    whole = hashlib.sha256()
    with _readable():
        for source in files:
            content = hashlib.sha256(source.read_bytes()).hexdigest()
            whole.update(f"{content}  {source.relative_to(folder).as_posix()}\n".encode())
    others = len(files) - 1
    more = f" with {others} other Python file{'s'[: others > 1]} beside it" * (others > 0)
    return ForeignCode(file, whole.hexdigest(), f"{file}{more}")


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{error.filename}: cannot be read ({error.strerror}).") from error


@dataclass(frozen=True)
class Permission:
    """How the user allows code that does not come with reproaudit.

    Attributes:
        ask: puts a question to the user; nobody is there by default. A yes is remembered.
        remedy: the way to allow it that a refusal names.
        on_code: takes a sentence on each piece of such code before anybody is asked.
    """

    trust: bool = False
    ask: Callable[[str], bool] = lambda _question: False
    remedy: str = "pass trust=True"
    on_code: Callable[[str], object] = lambda _sentence: None

    def require(self, entries: Iterable[Entry]) -> None:
        """Return if the code of all papers is shipped, trusted or allowed now.

        A ConsentError names what is not, its hash, and how to allow it.
        """
        modules = {entry.slug: entry.module for entry in entries}
        for slug, module in modules.items():
            if module.is_run_file:
                self.on_code(f"{slug}: what {module.file} says ({_commands(module)}) will run")
            elif not module.importable:
                self.on_code(f"{slug}: the code of {module.file.resolve()} will run")
        if self.trust or _trusts_all():
            return
        for code in filter(None, map(foreign_code, modules.values())):
            if _is_trusted(code):
                continue
            if not self.ask(f"Run {code.about}, which does not come with reproaudit?"):
                raise _refusal(code, self.remedy)
            _remember(code)


NOT_GIVEN = Permission()


def require_consent_to(file: Path, folder: Path, *, trust: bool, remedy: str) -> None:
    """Return if a file in or near a folder of audits may be run or obeyed; nobody is asked.

    The hash of the folder allows its own Python files; what is no such file, `trust` alone allows.
    Errors are those of `Permission.require`.
    """
    if trust or _trusts_all():
        return
    place = folder.resolve()
    files = sources_in(place)
    if file.parent.resolve() / file.name not in files:
        raise ConsentError(
            f"{file}: nobody has allowed what lies beside audits to be run or obeyed. Read it; "
            f"then {remedy}."
        )
    code = _with_folder(file, files, place)
    if not _is_trusted(code):
        raise _refusal(code, remedy)


def _trusts_all() -> bool:
    return os.environ.get("REPROAUDIT_TRUST") == "1"


def _refusal(code: ForeignCode, remedy: str) -> ConsentError:
    return ConsentError(
        f"{code.about} does not come with reproaudit, and nobody has allowed it to run. "
        f"Read it; then {remedy}, or add this line to {_trust_file()}: {code.digest}"
    )


def _trust_file() -> Path:
    usual = user_config_path("reproaudit", appauthor=False, roaming=True) / "trust"
    return Path(os.environ.get(TRUST_FILE_VARIABLE) or usual)


def _is_trusted(code: ForeignCode) -> bool:
    try:
        text = _trust_file().read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(f"{_trust_file()}: cannot be read ({error.strerror}).") from error
    return any(line.split()[:1] == [code.digest] for line in text.splitlines())


def _remember(code: ForeignCode) -> None:
    shown = "".join(c if c.isprintable() else "?" for c in str(code.file.resolve()))
    try:
        _trust_file().parent.mkdir(parents=True, exist_ok=True)
        with _trust_file().open("a", encoding="utf-8") as lines:
            lines.write(f"{code.digest}  {shown}\n")
    except OSError as error:
        raise StoreError(f"{_trust_file()}: cannot be written ({error.strerror}).") from error


def ask_terminal(question: str) -> bool:
    """Put a question to whoever sits at the terminal; False if nobody does."""
    if sys.stdin is None or not sys.stdin.isatty() or not sys.stderr.isatty():
        return False
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
