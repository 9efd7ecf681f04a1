"""Pairs audits and papers by name: `audits/<slug>.yaml` with `papers/<slug>`.

There is no registry. A paper joins by putting two files with one stem in place, shipped or in a
user's own folder (``DIR/<slug>.yaml`` beside ``DIR/<slug>.py``, or beside ``DIR/<slug>.run.yaml``,
which runs the authors' own repository). An audit may stand alone: it can be checked, reviewed and
judged, but not run. Nothing here imports a paper's module, nor torch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from reproaudit.audit import REVIEW_FILE, RUN_FILE, SHORT_FILE
from reproaudit.errors import SpecError, UsageError, did_you_mean
from reproaudit.files import same_place

if TYPE_CHECKING:  # what only finds papers starts without the models of an audit
    from reproaudit.audit.model import Audit
    from reproaudit.audit.review import Reviews

PACKAGE_FOLDER = Path(__file__).parent.parent

SLUG = re.compile(r"[a-z][a-z0-9_]{0,63}")  # The form of a paper's short name
VARIABLE = "REPROAUDIT_AUDITS"  # The environment variable that names a folder of audits


def shipped_audits() -> Path:
    """Return the folder of the shipped audits: in the package, or in a checkout."""
    return _shipped("audits")


def shipped_reports() -> Path:
    """Return the folder of the shipped reports: in the package, or in a checkout."""
    return _shipped("reports")


def skill_text() -> str:
    """Return the shipped page that tells an agent how to go from a paper to a judged claim."""
    return (_shipped("skills") / "reproaudit" / "SKILL.md").read_text(encoding="utf-8")


def _shipped(name: str) -> Path:
    installed = PACKAGE_FOLDER / name
    return installed if installed.is_dir() else PACKAGE_FOLDER.parent.parent / name


def is_shipped(audit_file: Path) -> bool:
    """Tell whether an audit is one of the shipped ones."""
    return same_place(audit_file.parent, shipped_audits())


def is_installed(audit_file: Path) -> bool:
    """Tell whether an audit lies inside the installed package, not in a checkout or a folder."""
    return same_place(audit_file.parent, PACKAGE_FOLDER / "audits")


@dataclass(frozen=True)
class Module:
    """A paper's module or run file: its place. `run.modules` imports it.

    Attributes:
        name: the dotted name of an importable module, or the stem of a file in a user's folder.
        file: the module's ``.py`` file or its package's folder, or the run file.
        importable: True if ``name`` is found on ``sys.path``; otherwise ``file`` is loaded from
            its folder, where it may import its siblings, relatively or by name.
    """

    name: str
    file: Path
    importable: bool = True

    @property
    def folder(self) -> Path:
        """The folder in which it lies, with every link to it resolved."""
        return self.file.parent.resolve()

    @property
    def is_run_file(self) -> bool:
        """Whether its experiments are commands of an author's repository."""
        return self.file.name.endswith(RUN_FILE)


@dataclass(frozen=True)
class Entry:
    """A paper: its audit and its module.

    Attributes:
        code: the module; None of an audit that stands alone.
        salt: the word from which, with its rules, the paper tier's seeds follow; empty for none.
    """

    slug: str
    audit_file: Path
    code: Module | None
    salt: str = ""

    @property
    def module(self) -> Module:
        """Return the module; a SpecError if the audit stands alone and nothing can be run."""
        if self.code is None:
            file = self.audit_file.with_suffix(".py")
            raise SpecError(
                f"{self.audit_file}: has no module {file}, so that '{self.slug}' can be checked, "
                "reviewed and judged, but not run. Add the module to run it, "
                f"or {self.audit_file.with_suffix(RUN_FILE).name}."
            )
        return self.code

    @property
    def reviewed_file(self) -> Path:
        """The audit's file as reviewers have it, beside which their reviews are written and read.

        Of an audit that comes with reproaudit it is ``audits/<slug>.yaml`` in the nearest folder,
        at or above the working directory, that has one: the reviewer's own checkout.
        """
        if not is_shipped(self.audit_file):
            return self.audit_file
        here = Path.cwd()
        places = (folder / "audits" / self.audit_file.name for folder in (here, *here.parents))
        return next((place for place in places if place.is_file()), self.audit_file)

    @property
    def review_file(self) -> Path:
        """The file of what reviewers say, whether it exists or not."""
        return self.reviewed_file.with_suffix(REVIEW_FILE)

    def reviews(self) -> Reviews:
        """Read what reviewers say, nothing without a file; a SpecError lists every fault."""
        from reproaudit.audit.loading import load_reviews

        return load_reviews(self.review_file)

    @property
    def results_file(self) -> Path:
        """The log of the paper's results, whether it exists or not."""
        return self.audit_file.with_suffix(".results.jsonl")

    def audit(self) -> Audit:
        """Read and validate the audit; a SpecError lists every fault."""
        from reproaudit.audit.loading import load_audit

        audit = load_audit(self.audit_file)
        return audit.salted(self.salt) if self.salt else audit


@dataclass(frozen=True)
class Catalog:
    """The papers: the shipped ones, and before those of the same name a user's folder's."""

    folder: Path | None = None

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        """Every paper by slug, in order; a UsageError if the user's folder does not exist."""
        files = audits_in(shipped_audits())
        folder = self.folder
        variable = os.environ.get(VARIABLE)
        if folder is None and variable:
            folder = Path(variable)
        if folder is not None:
            if not folder.is_dir():
                named_by = "--audits" if self.folder else VARIABLE
                raise UsageError(f"{folder}: no such folder. {named_by} names a folder of audits.")
            files += audits_in(folder)
        papers = {file.stem: entry_of(file) for file in files}
        return dict(sorted(papers.items()))

    def __getitem__(self, slug: str) -> Entry:
        """Return a paper by its slug; a UsageError names the closest one."""
        if slug not in self.entries:
            remedies = (did_you_mean(slug, self.entries), "Papers of your own: --audits DIR.")
            raise UsageError(f"unknown paper '{slug}'. {' '.join(filter(None, remedies))}")
        return self.entries[slug]

    def select(self, slugs: Iterable[str], everything: bool) -> tuple[Entry, ...]:
        """Return the papers that a command line names; a UsageError if none, or an unknown one."""
        names = list(dict.fromkeys(slugs))
        if everything:
            return tuple(self.entries.values())
        if not names:
            raise UsageError(f"name a paper, or --all. {did_you_mean('', self.entries)}")
        return tuple(self[name] for name in names)

    def locate(self, slug: str) -> Module:
        """Return the module of a paper."""
        return self[slug].module


def entry_of(audit_file: Path) -> Entry:
    """Return the paper of an audit's file, shipped or not, with its code, if it has some.

    That is its run file in a user's folder, else its module: a package or a file.
    """
    slug = audit_file.stem
    folder = audit_file.parent
    shipped = is_shipped(audit_file)
    run_file = audit_file.with_suffix(RUN_FILE)
    if not shipped and run_file.is_file():
        return Entry(slug, audit_file, Module(slug, run_file, importable=False))
    place = (PACKAGE_FOLDER / "papers" if shipped else folder) / slug
    file = place if (place / "__init__.py").is_file() else place.with_name(f"{slug}.py")
    name = f"reproaudit.papers.{slug}" if shipped else slug
    return Entry(slug, audit_file, Module(name, file, shipped) if file.exists() else None)


def audits_in(folder: Path) -> list[Path]:
    """Return the audits in a folder, sorted by name: ``SLUG.yaml`` alone."""
    companions = (RUN_FILE, REVIEW_FILE, SHORT_FILE)
    return [file for file in sorted(folder.glob("*.yaml")) if not file.name.endswith(companions)]
