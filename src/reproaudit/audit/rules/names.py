"""Parts that several rules of names share: unique ids, and known names."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterator, Sequence

from reproaudit.audit.model import Audit
from reproaudit.audit.rules.rule import Loc, Violation
from reproaudit.audit.rules.values import repeated


def ids_of_their_own(field: str, word: str, ids: Sequence[str], slug: str) -> Iterator[Violation]:
    """Ids that are used twice, or that do not begin with the slug.

    Args:
        field: the audit's list that holds the ids.
        word: the noun for an entry of the list.
        ids: the ids in the list's order.
        slug: the paper's slug.
    """
    for i in repeated(ids):
        yield Violation((field, i, "id"), f"found a second {word} '{ids[i]}'; expected unique ids")
    for i, one in enumerate(ids):
        if not one.startswith(f"{slug}."):
            yield Violation(
                (field, i, "id"),
                f"found '{one}'; expected an id that begins with '{slug}.'",
                about=slug,
            )


def unknown(
    loc: Loc, word: str, names: Sequence[str], known: Collection[str]
) -> Iterator[Violation]:
    """Names in a list at `loc` that the audit does not have; `word` is the noun for them."""
    for i, name in enumerate(names):
        if name not in known:
            yield Violation(
                (*loc, i),
                f"found the unknown {word} '{name}'; expected one of this audit",
                about=name,
                known=known,
            )


def unknown_experiment(audit: Audit, loc: Loc, experiment: str) -> Iterator[Violation]:
    """The experiment named at `loc`, if the audit does not have it."""
    if experiment not in audit.experiments:
        yield Violation(
            (*loc, "experiment"),
            f"found the unknown experiment '{experiment}'; expected a declared one",
            about=experiment,
            known=audit.experiments,
        )


def not_of(word: str, name: str, experiment: str) -> str:
    """The message on a setting or measurement, by its word, that an experiment does not have."""
    return f"found the unknown {word} '{name}'; the experiment '{experiment}' has no such {word}"


def known_settings(audit: Audit, experiment: str) -> Collection[str]:
    """The names of an experiment's settings, its own and the shared ones."""
    return ChainMap(audit.experiments[experiment].settings, audit.settings)


def every_setting(audit: Audit) -> frozenset[str]:
    """The names of all settings; an experiment's own with and without the experiment's name."""
    known = set(audit.settings)
    for experiment, one in audit.experiments.items():
        known.update(one.settings, (f"{experiment}.{name}" for name in one.settings))
    return frozenset(known)
