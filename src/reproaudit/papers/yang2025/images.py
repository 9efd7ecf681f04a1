"""The pictures of the image variant: MNIST, or a stand-in that needs no network.

MNIST is looked for in the folder that ``REPROAUDIT_DATA`` names and in the user's cache folder, in
``MNIST/raw/`` or flat, gzipped or not. Where it is in neither, it is downloaded into the cache
folder, once. Where that fails, its other split or scikit-learn's embedded 8×8 digits stand in; a
record made with them says so.

Only planning (`checksums`) tries a failed download again. Whoever measures afterwards, perhaps in
many processes, finds the note of the failure and does not, so plan and measurements agree.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import logging
import math
import os
import tempfile
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float, UInt8

from reproaudit.errors import TechnicalError
from reproaudit.lab import DATA_VARIABLE

_log = logging.getLogger(__name__)

Collection = Literal["mnist", "digits"]
"""The pictures: MNIST where it can be had, or scikit-learn's embedded digits."""

Split = Literal["train", "test"]
"""One of MNIST's two splits."""

Scaling = Literal["unit_norm", "pixels"]
"""The scaling of pictures: to length 1, or none, with values between 0 and 1."""

FILES: dict[Split, tuple[str, str]] = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
"""The files of a split: pictures and labels."""

STAND_IN = "scikit-learn's embedded 8×8 digits in place of MNIST"
"""The note in a record that was made without MNIST."""

FAILED = "mnist-download-failed.txt"
"""The note of a failed download, in the cache folder."""

MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"


@dataclass(frozen=True)
class Pictures:
    """Labelled pictures.

    Attributes:
        pixels: between 0 and 1.
        labels: the digit.
        checksums: SHA-256 of what was read, uncompressed, by name.
        proxy: what these pictures stand in for, or None.
    """

    pixels: Float[np.ndarray, "picture pixel"]
    labels: UInt8[np.ndarray, " picture"]
    checksums: dict[str, str]
    proxy: str | None


def checksums(images: Collection, split: Split) -> dict[str, str]:
    """Returns the checksum of each file that `pictures` reads; downloads MNIST where it is missing.

    Raises:
        TechnicalError: if a file is there and is not what it should be.
    """
    if images == "mnist" and not _found(split):
        _try_download()
    return dict(pictures(images, split).checksums)


def pictures(images: Collection, split: Split) -> Pictures:
    """Returns the pictures of a split, or of its stand-in: MNIST's other split, then the digits.

    Raises:
        TechnicalError: if a file is there and is not what it should be.
    """
    if images == "digits":
        return _digits()
    if not _found(split) and not (cache_folder() / FAILED).exists():
        _try_download()
    if found := _found(split):
        return _mnist(split, *found)
    other: Split = "test" if split == "train" else "train"
    if found := _found(other):
        proxy = f"MNIST's '{other}' split in place of its '{split}' split"
        return replace(_mnist(other, *found), proxy=proxy)
    return _digits()


def signals(
    images: Pictures,
    digits: Sequence[int],
    tuples: int,
    *,
    centred: bool,
    scaling: Scaling,
    draw: np.random.Generator,
) -> Float[np.ndarray, "tuple class pixel"]:
    """Returns pictures as signals: one per digit in every tuple, none used twice.

    Args:
        images: where they are taken from.
        digits: the digit of each class.
        tuples: how many pictures of each.
        centred: whether the mean picture of these digits is subtracted first.
        scaling: how they are scaled then.
        draw: chooses the pictures.

    Raises:
        TechnicalError: if there are fewer than ``tuples`` pictures of a digit.
    """
    of_digit = [images.pixels[images.labels == digit] for digit in digits]
    for digit, found in zip(digits, of_digit, strict=True):
        if len(found) < tuples:
            raise TechnicalError(f"there are {len(found)} pictures of {digit}, not {tuples}")
    mean = np.concatenate(of_digit).mean(axis=0) if centred else 0.0
    drawn = [one[draw.choice(len(one), tuples, replace=False)] - mean for one in of_digit]
    chosen = np.stack(drawn, axis=1)
    if scaling == "pixels":
        return chosen
    return np.asarray(chosen / np.linalg.norm(chosen, axis=2, keepdims=True))


# ------------------------------------------------------------------------------------- on the disk


def cache_folder() -> Path:
    """The folder that keeps downloads: ``reproaudit`` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "reproaudit"


def _found(split: Split) -> tuple[Path, Path] | None:
    """The file of a split's pictures, and that of its labels."""
    named = os.environ.get(DATA_VARIABLE)
    for folder in [*([Path(named)] if named else []), cache_folder()]:
        for place in (folder / "MNIST" / "raw", folder):
            both = [
                next(
                    (path for path in (place / name, place / f"{name}.gz") if path.is_file()), None
                )
                for name in FILES[split]
            ]
            if both[0] and both[1]:
                return both[0], both[1]
    return None


@cache
def _mnist(split: Split, pixel_file: Path, label_file: Path) -> Pictures:
    pixels, pixel_sum = _read_idx(pixel_file)
    labels, label_sum = _read_idx(label_file)
    if pixels.ndim != 3 or labels.ndim != 1 or len(pixels) != len(labels):
        raise TechnicalError(
            f"{pixel_file} and {label_file} do not belong together: they hold arrays of shape "
            f"{pixels.shape} and {labels.shape}. Delete both; they are downloaded again."
        )
    names = (f"MNIST {name}" for name in FILES[split])
    sums = dict(zip(names, (pixel_sum, label_sum), strict=True))
    return Pictures(pixels.reshape(len(pixels), -1) / 255.0, labels, sums, None)


def _read_idx(path: Path) -> tuple[UInt8[np.ndarray, "*shape"], str]:
    """An IDX file of bytes (http://yann.lecun.com/exdb/mnist/), and the checksum of its contents.

    The format: two zero bytes, 8 for unsigned bytes, the number of axes, each axis' length as four
    bytes with the highest first, the values.
    """
    try:
        stored = path.read_bytes()
        content = gzip.decompress(stored) if stored[:2] == b"\x1f\x8b" else stored
        axes = content[3]
        shape = tuple(np.frombuffer(content, ">u4", axes, offset=4).tolist())
        whole = content[:3] == b"\x00\x00\x08" and len(content) == 4 + 4 * axes + math.prod(shape)
    except (OSError, EOFError, IndexError, ValueError) as error:
        raise TechnicalError(f"{path} cannot be read as an IDX file ({error})") from error
    if not whole:
        raise TechnicalError(f"{path} is not a whole IDX file of bytes. Delete or replace it.")
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)
    return values, hashlib.sha256(content).hexdigest()


@cache
def _digits() -> Pictures:
    from sklearn.datasets import load_digits  # slow to import, and rarely needed

    loaded = load_digits()
    labels = loaded.target.astype(np.uint8)
    content = loaded.data.tobytes() + labels.tobytes()
    sums = {"scikit-learn digits": hashlib.sha256(content).hexdigest()}
    return Pictures(loaded.data / 16.0, labels, sums, STAND_IN)


# ---------------------------------------------------------------------------------------- download


@cache
def _try_download() -> None:
    """Downloads MNIST, or notes in the cache folder and the log why not; once per process."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _download(folder)
        (folder / FAILED).unlink(missing_ok=True)
    except Exception as error:  # no network, a full disk, a mirror's answer: all end the same way
        message = "MNIST cannot be downloaded (%s): using its other split, if it is there, or %s"
        _log.warning(message, error, STAND_IN)
        with contextlib.suppress(OSError):
            (folder / FAILED).write_text(f"{error}\n", encoding="utf-8")


def _download(folder: Path) -> None:
    target = folder / "MNIST" / "raw"
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as unfinished:
        for name in (f"{stem}.gz" for both in FILES.values() for stem in both):
            with urllib.request.urlopen(MIRROR + name, timeout=10) as answer:
                Path(unfinished, name).write_bytes(answer.read())
            _read_idx(Path(unfinished, name))
        for file in Path(unfinished).iterdir():
            file.replace(target / file.name)  # whole files only, whatever happens
