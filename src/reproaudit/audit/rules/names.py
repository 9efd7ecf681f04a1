"""What rules of names share: ids that are unique, names that are known."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from reproaudit.audit.rules.rule import Loc, Violation
from reproaudit.audit.rules.values import repeated
from reproaudit.errors import did_you_mean


def ids_of_their_own(field: str, word: str, ids: Sequence[str], slug: str) -> Iterator[Violation]:
    """Ids that stand a second time, or do not begin with the slug.

    Args:
        field: the audit's list that they are of.
        word: what one of them is the id of.
        ids: in the list's order.
        slug: the paper's.
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
    """Names of a list at `loc` that the audit does not have; `word` says what they are of."""
    for i, name in enumerate(names):
        if name not in known:
            yield Violation(
                (*loc, i),
                f"found the unknown {word} '{name}'; expected one of this audit",
                did_you_mean(name, known),
                about=name,
            )
