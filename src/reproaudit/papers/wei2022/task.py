"""Pictures of digits, divided at random for each seed."""

from __future__ import annotations

from reproaudit.lab import Array, AuditSettings, checksums, generator, pictures

NAMES = {"mnist": "MNIST", "digits": "8×8 digits"}
"""The pictures by the setting that names them."""


def checksum(s: AuditSettings) -> dict[str, str]:
    """Return the checksums of the pictures."""
    return checksums(s.images, s.split)


def rows_of(s: AuditSettings, seed: int, part: str) -> tuple[Array, Array]:
    """Return pixels (row, pixel) and labels (row) of a random split's part, "train" or "test"."""
    every = pictures(s.images, s.split)
    rows = generator(seed, "split").permutation(len(every.labels))
    last = s.train_rows + s.test_rows
    chosen = {"train": rows[: s.train_rows], "test": rows[s.train_rows : last]}[part]
    return every.pixels[chosen], every.labels[chosen]
