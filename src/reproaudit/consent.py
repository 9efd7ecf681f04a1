"""Consent to run code that does not come with reproaudit: a paper's module in a user's folder.

Such code can do whatever the user can; what runs it calls `require_consent` first. Consent belongs
to a hash over every Python file in the module's folder and below, since the module may import any
of them, and of commands (``<slug>.run.yaml``) to the run file's, which holds the pin of the source.
The trust file lists a hash a line: ``reproaudit/trust`` in the user's configuration folder, or the
file that the environment variable ``REPROAUDIT_TRUST_FILE`` names. ``REPROAUDIT_TRUST=1`` allows
everything, for containers and CI.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_config_path

from reproaudit.audit.catalog import Module
from reproaudit.errors import StoreError, UsageError
from reproaudit.repositories.run_file import described

TRUST_FILE_VARIABLE = "REPROAUDIT_TRUST_FILE"


class ConsentError(UsageError):
    """Foreign code that nobody has allowed to run."""


@dataclass(frozen=True)
class ForeignCode:
    """Code that is not shipped: its file, its SHA-256, and the two in words."""

    module: Path
    digest: str
    about: str


def foreign_code(module: Module) -> ForeignCode | None:
    """Returns the foreign code that importing a paper's module would run; None for a shipped one.

    Raises:
        UsageError: if the folder holds a Python file that cannot be read.
    """
    if module.importable:
        return None
    folder = module.file.resolve().parent
    file = module.file
    try:
        if module.is_run_file:
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
            more = f" with its commands ({described(module.file)})"
        else:
            files = sorted(_code_files(folder))
            whole = hashlib.sha256()
            for file in files:
                content = hashlib.sha256(file.read_bytes()).hexdigest()
                whole.update(f"{content}  {file.relative_to(folder).as_posix()}\n".encode())
            digest = whole.hexdigest()
            others = len(files) - 1
            more = f" with {others} other Python file{'s'[: others > 1]} beside it" * (others > 0)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror}).") from error
    return ForeignCode(module.file, digest, f"{module.file}{more} (sha256 {digest[:16]}…)")


def require_consent(
    modules: Iterable[Module],
    *,
    trust: bool = False,
    ask: Callable[[str], bool] | None = None,
    remedy: str = "pass --trust",
) -> None:
    """Returns if every module is shipped, trusted or allowed now; otherwise raises.

    Args:
        trust: whether all of them are allowed, this once.
        ask: puts a question to the user; by default the terminal, if there is one to ask at. A yes
            is kept in the trust file.
        remedy: the way to allow them that the message names.

    Raises:
        ConsentError: naming what was not allowed, its hash, and how to allow it.
        StoreError: if the trust file cannot be read or written.
    """
    if trust or os.environ.get("REPROAUDIT_TRUST") == "1":
        return
    for code in filter(None, map(foreign_code, modules)):
        if _is_trusted(code):
            continue
        if not (ask or _ask)(f"Run {code.about}, which does not come with reproaudit?"):
            raise ConsentError(
                f"{code.about} does not come with reproaudit, and nobody has allowed it to run. "
                f"Read it; then {remedy}, or add this line to {_trust_file()}: {code.digest}"
            )
        _remember(code)


def _code_files(folder: Path) -> Iterator[Path]:
    """Yields the Python files under a folder, links to folders followed, each folder once."""
    seen: set[str] = set()
    for root, folders, files in os.walk(folder, followlinks=True):
        is_new = os.path.realpath(root) not in seen
        seen.add(os.path.realpath(root))
        folders[:] = [one for one in folders if is_new and one[0] != "." and one != "__pycache__"]
        code = [one for one in files if is_new and one.endswith((".py", ".pyc", ".pyd", ".so"))]
        yield from (Path(root, one) for one in code)


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
    shown = "".join(c if c.isprintable() else "?" for c in str(code.module.resolve()))
    try:
        _trust_file().parent.mkdir(parents=True, exist_ok=True)
        with _trust_file().open("a", encoding="utf-8") as lines:
            lines.write(f"{code.digest}  {shown}\n")
    except OSError as error:
        raise StoreError(f"{_trust_file()}: cannot be written ({error.strerror}).") from error


def _ask(question: str) -> bool:
    if sys.stdin is None or not sys.stdin.isatty() or not sys.stderr.isatty():
        return False
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
