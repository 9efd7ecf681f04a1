"""The user's consent to code that does not come with reproaudit, as each shell asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from reproaudit.audit.catalog import Entry
from reproaudit.service.events import ignored


def nobody(_question: str) -> bool:
    """Answer no, since nobody is there to be asked."""
    return False


@dataclass(frozen=True)
class Permission:
    """How the user allows code that does not come with reproaudit.

    Attributes:
        trust: whether all of it is allowed, this once.
        ask: puts a question to the user.
        remedy: the way to allow it that a refusal names.
        on_code: takes a sentence on each piece of such code before anybody is asked.
    """

    trust: bool = False
    ask: Callable[[str], bool] = nobody
    remedy: str = "pass trust=True"
    on_code: Callable[[str], object] = ignored

    def require(self, entries: Iterable[Entry]) -> None:
        """Return if the code of all papers may run; a ConsentError or StoreError if not."""
        from reproaudit.consent import require_consent
        from reproaudit.repositories.run_file import described

        modules = {entry.slug: entry.module for entry in entries}
        for slug, module in modules.items():
            if module.is_run_file:
                what = f"what {module.file} says ({described(module.file)})"
                self.on_code(f"{slug}: {what} will run")
            elif not module.importable:
                self.on_code(f"{slug}: the code of {module.file.resolve()} will run")
        require_consent(modules.values(), trust=self.trust, ask=self.ask, remedy=self.remedy)


NOT_GIVEN = Permission()
"""Only code that comes with reproaudit, or was allowed before, may run."""
