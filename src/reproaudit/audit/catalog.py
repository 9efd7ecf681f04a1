"""Pairs audits and papers by name: `audits/<slug>.yaml` with `papers/<slug>`.

There is no registry. A paper joins by putting two files with one stem in place, shipped or in a
user's own folder (``DIR/<slug>.yaml`` beside ``DIR/<slug>.py``). One without the other is an error,
never skipped. Nothing here imports a paper's module, nor torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from reproaudit.audit.loading import load_audit
from reproaudit.audit.model import Audit
from reproaudit.audit.paper_module import Module
from reproaudit.errors import SpecError, UsageError, did_you_mean

PACKAGE = Path(__file__).parent.parent


def shipped_audits() -> Path:
    """The folder of the audits that come with reproaudit: in the package, or in a checkout."""
    installed = PACKAGE / "audits"
    return installed if installed.is_dir() else PACKAGE.parent.parent / "audits"


@dataclass(frozen=True)
class Entry:
    """A paper: its audit and its module."""

    slug: str
    audit_file: Path
    module: Module

    def audit(self) -> Audit:
        """Reads and validates the audit.

        Raises:
            SpecError: listing every fault.
        """
        return load_audit(self.audit_file)


@dataclass(frozen=True)
class Catalog:
    """The papers that can be run: the shipped ones, and those of a user's folder.

    Attributes:
        folder: a user's folder; its papers stand before shipped ones of the same name.
    """

    folder: Path | None = None

    @cached_property
    def entries(self) -> Mapping[str, Entry]:
        """Every paper by slug, in alphabetical order.

        Raises:
            SpecError: if an audit has no module, or a module no audit.
            UsageError: if the user's folder does not exist.
        """
        papers = _pair(shipped_audits(), PACKAGE / "papers", shipped=True)
        if self.folder is not None:
            if not self.folder.is_dir():
                raise UsageError(
                    f"{self.folder}: no such folder. --audits takes a folder of audits."
                )
            papers.update(_pair(self.folder, self.folder, shipped=False))
        return dict(sorted(papers.items()))

    def __getitem__(self, slug: str) -> Entry:
        """A paper by its slug.

        Raises:
            UsageError: naming the closest slug.
        """
        if slug not in self.entries:
            remedy = did_you_mean(slug, self.entries)
            raise UsageError(f"unknown paper '{slug}'. {remedy}".rstrip())
        return self.entries[slug]

    def select(self, slugs: Iterable[str], everything: bool) -> tuple[Entry, ...]:
        """The papers that a command line names.

        Raises:
            UsageError: if nothing is named, or something unknown.
        """
        names = list(dict.fromkeys(slugs))
        if everything:
            return tuple(self.entries.values())
        if not names:
            raise UsageError(f"name a paper, or --all. {did_you_mean('', self.entries)}")
        return tuple(self[name] for name in names)

    def locate(self, slug: str) -> Module:
        """The module of a paper."""
        return self[slug].module


def _pair(audits: Path, papers: Path, *, shipped: bool) -> dict[str, Entry]:
    found = {file.stem: file for file in sorted(audits.glob("*.yaml"))}
    modules = _modules(papers)
    alone = [f"{found[s]}: has no module {papers / s}.py" for s in found.keys() - modules.keys()]
    if shipped:  # a user's folder may hold other Python files
        alone += [f"{modules[s]}: has no audit {audits / s}.yaml" for s in modules.keys() - found]
    if alone:
        raise SpecError(
            "\n".join(f"{line}. Add it, or remove the other." for line in sorted(alone))
        )
    return {
        slug: Entry(slug, file, _module(slug, modules[slug], shipped))
        for slug, file in found.items()
    }


def _modules(folder: Path) -> dict[str, Path]:
    """Files and packages of a folder by stem, private ones left out."""
    files = {file.stem: file for file in folder.glob("*.py")}
    packages = {file.parent.name: file.parent for file in folder.glob("*/__init__.py")}
    return {name: path for name, path in {**files, **packages}.items() if not name.startswith("_")}


def _module(slug: str, file: Path, shipped: bool) -> Module:
    if shipped:
        name = f"reproaudit.papers.{slug}"
        return Module(name=name, file=file, roots=(PACKAGE,))
    return Module(name=slug, file=file, roots=(PACKAGE, file.parent), importable=False)
