"""Consent to run code that does not come with reproaudit.

The module of a paper in a user's own folder is *foreign code*: it can do whatever the user can.
Listing, checking, judging and reporting never run it. What runs it calls `require_consent` first.
Consent belongs to a hash over every Python file in the module's folder, its subfolders included,
since the module may import any of them; a file that is changed, added or removed asks again. Cached
bytecode in ``__pycache__`` is not looked at. Of commands (``<slug>.run.yaml``) the hash is the run
file's, which holds the pin of the source.

The trust file has one line for each hash: the hash, two spaces, and the name that was shown. It is
``reproaudit/trust`` in the user's configuration folder, or the file that the environment variable
``REPROAUDIT_TRUST_FILE`` names. ``REPROAUDIT_TRUST=1`` allows everything, for containers and CI.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from reproaudit.audit.paper_module import CommandModule, Module
from reproaudit.errors import StoreError, UsageError

TRUST_FILE_VARIABLE = "REPROAUDIT_TRUST_FILE"
"""The environment variable that names another trust file."""

_TRUST_ALL = "REPROAUDIT_TRUST"
"""The environment variable that allows everything if it is 1, as ``--trust`` does."""

MOST_CODE_FILES = 2_000
"""Python files in a folder of audits; more than that is a whole environment, and no such folder."""

_CODE = frozenset({".py", ".pyc", ".pyd", ".so"})
_HASH = re.compile(r"[0-9a-f]{64}")


class ConsentError(UsageError):
    """Foreign code that nobody has allowed to run."""


@dataclass(frozen=True)
class ForeignCode:
    """Code beside audits that are not shipped.

    Attributes:
        folder: the folder that it may import from.
        module: the file or package that is run.
        files: the number of Python files under the folder.
        digest: SHA-256 over names and contents of these files, as 64 hexadecimal digits.
        commands: of a run file, what it executes.
    """

    folder: Path
    module: Path
    files: int
    digest: str
    commands: str = ""

    @property
    def about(self) -> str:
        """The code in a few words, with its hash, on one line."""
        others = self.files - 1
        more = f" with {others} other Python file{'' if others == 1 else 's'} beside it"
        runs = f" with its commands ({self.commands})" if self.commands else ""
        return f"{self.module}{more if others else ''}{runs} (sha256 {self.digest[:16]}…)"


def foreign_code(module: Module) -> ForeignCode | None:
    """Returns the foreign code that importing a paper's module would run; None for a shipped one.

    Raises:
        UsageError: if the module's folder holds more Python files than `MOST_CODE_FILES`, or one
            that cannot be read.
    """
    if module.importable:
        return None
    folder = module.file.resolve().parent
    if isinstance(module, CommandModule):
        return _command(module)
    whole = hashlib.sha256()
    count = 0
    for count, file in enumerate(sorted(_code_files(folder)), start=1):
        if count > MOST_CODE_FILES:
            raise UsageError(
                f"{folder}: holds more than {MOST_CODE_FILES} Python files. Keep audits and their "
                "modules in a folder of their own."
            )
        try:
            content = hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError as error:
            raise UsageError(f"{file}: cannot be read ({error.strerror}).") from error
        whole.update(f"{content}  {file.relative_to(folder).as_posix()}\n".encode())
    return ForeignCode(folder, module.file, count, whole.hexdigest())


def _command(module: CommandModule) -> ForeignCode:
    """The commands of a run file: its bytes pin the source, so that their hash covers both."""
    try:
        digest = hashlib.sha256(module.file.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"{module.file}: cannot be read ({error.strerror}).") from error
    return ForeignCode(module.file.resolve().parent, module.file, 1, digest, module.described())


def _code_files(folder: Path) -> Iterator[Path]:
    """Yields the Python files under a folder, links to folders followed, each folder once."""
    seen: set[str] = set()
    for root, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(root)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = [one for one in folders if one != "__pycache__" and not one.startswith(".")]
        yield from (Path(root, one) for one in files if Path(one).suffix in _CODE)


# --- the trust file -------------------------------------------------------------------------------


def trust_file() -> Path:
    """Returns the place of the trust file; it need not exist."""
    if named := os.environ.get(TRUST_FILE_VARIABLE):
        return Path(named)
    base = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("APPDATA")
    return (Path(base) if base else Path.home() / ".config") / "reproaudit" / "trust"


def trusted_hashes(file: Path | None = None) -> frozenset[str]:
    """Returns the hashes that the trust file lists; none if there is no such file.

    Raises:
        StoreError: if it cannot be read, or a line does not begin with a hash.
    """
    place = trust_file() if file is None else file
    try:
        lines = place.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return frozenset()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise StoreError(f"{place}: cannot be read ({reason}). Mend or remove it.") from error
    found = set()
    for number, line in enumerate(lines, start=1):
        first = line.split("#")[0].split()[:1]
        if first and not _HASH.fullmatch(first[0]):
            raise StoreError(
                f"{place}:{number}: found '{first[0][:40]}'; expected a SHA-256 hash of 64 "
                "hexadecimal digits. Mend or remove the line."
            )
        found.update(first)
    return frozenset(found)


def remember(code: ForeignCode, file: Path | None = None) -> Path:
    """Adds a hash to the trust file, which it returns.

    Raises:
        StoreError: if the file cannot be written.
    """
    place = trust_file() if file is None else file
    shown = "".join(c if c.isprintable() else "?" for c in str(code.module.resolve()))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("a", encoding="utf-8") as lines:
            lines.write(f"{code.digest}  {shown.replace('#', '?')}\n")
    except OSError as error:
        raise StoreError(f"{place}: cannot be written ({error.strerror}).") from error
    return place


# --- asking ---------------------------------------------------------------------------------------


def require_consent(
    modules: Iterable[Module],
    *,
    trust: bool = False,
    ask: Callable[[str], bool] | None = None,
    remedy: str = "pass --trust",
) -> None:
    """Returns if every module is shipped, trusted or allowed now; otherwise raises.

    Args:
        modules: the modules that are about to be imported.
        trust: whether all of them are allowed, this once.
        ask: puts a question to the user; by default the terminal, if there is one to ask at. A yes
            is kept in the trust file.
        remedy: the way to allow them that the message names.

    Raises:
        ConsentError: naming what was not allowed, its hash, and how to allow it.
    """
    if trust or os.environ.get(_TRUST_ALL) == "1":
        return
    known: frozenset[str] | None = None
    for module in modules:
        code = foreign_code(module)
        if code is None:
            continue
        known = trusted_hashes() if known is None else known
        if code.digest in known:
            continue
        asking = ask or (_ask_terminal if _at_terminal() else None)
        if asking is None or not asking(f"Run {code.about}, which does not come with reproaudit?"):
            raise ConsentError(
                f"{code.about} does not come with reproaudit, and nobody has allowed it to run. "
                f"Read it; then {remedy}, or add this line to {trust_file()}: {code.digest}"
            )
        remember(code)
        known |= {code.digest}


def _at_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _ask_terminal(question: str) -> bool:
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
