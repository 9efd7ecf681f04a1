"""The pictures of the image variant: MNIST, or a stand-in that needs no network.

MNIST is looked for in the folder that ``REPROAUDIT_DATA`` names and in the user's cache folder, in
torchvision's layout (``MNIST/raw/``) or flat, gzipped or not. Where it is in neither, torchvision
downloads it into the cache folder, once. Without network that fails within seconds, and its other
split or scikit-learn's embedded 8×8 digits stand in; a record made with them says so.

Only planning (`checksums`) tries a failed download again. Whoever measures afterwards, perhaps in
many processes, finds the note of the failure and does not, so plan and measurements agree.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import io
import logging
import math
import os
import socket
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float, UInt8

from reproaudit.errors import TechnicalError
from reproaudit.lab import DATA_VARIABLE

_log = logging.getLogger(__name__)

PROBE_SECONDS = 4.0
"""The seconds within which a mirror must answer, resolving its name included.

If none does, there is no network.
"""

STALL_SECONDS = 10.0
"""The seconds for which a download may stand still."""

STAND_IN = "scikit-learn's embedded 8×8 digits in place of MNIST"
"""The note in a record that was made without MNIST."""

Split = Literal["train", "test"]
"""One of MNIST's two splits."""

STEMS: dict[Split, str] = {"train": "train", "test": "t10k"}
"""The stem of a split's files."""

FAILED = "mnist-download-failed.txt"
"""The note of a failed download, in the cache folder."""

Collection = Literal["mnist", "digits"]
"""The pictures: MNIST where it can be had, or scikit-learn's embedded digits."""

Scaling = Literal["unit_norm", "pixels"]
"""The scaling of pictures: to length 1, or none, with values between 0 and 1."""


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
    if images == "mnist" and not _found(folders(), split):
        _try_download(cache_folder())
    return dict(pictures(images, split).checksums)


def pictures(images: Collection, split: Split) -> Pictures:
    """Returns the pictures of a split; where it cannot be had, those of a stand-in, which says so.

    MNIST's other split stands in first, then the embedded digits, which have no splits.

    Raises:
        TechnicalError: if a file is there and is not what it should be.
    """
    if images == "digits":
        return _digits()
    if not _found(folders(), split) and not (cache_folder() / FAILED).exists():
        _try_download(cache_folder())
    if found := _found(folders(), split):
        return _mnist(STEMS[split], *found)
    other: Split = "test" if split == "train" else "train"
    if found := _found(folders(), other):
        proxy = f"MNIST's '{other}' split in place of its '{split}' split"
        return replace(_mnist(STEMS[other], *found), proxy=proxy)
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


def folders() -> tuple[Path, ...]:
    """The folders in which MNIST is looked for, in this order."""
    named = os.environ.get(DATA_VARIABLE)
    return (*((Path(named),) if named else ()), cache_folder())


def _file(folder: Path, name: str) -> Path | None:
    places = (folder / "MNIST" / "raw", folder)
    candidates = (place / (name + ending) for place in places for ending in ("", ".gz"))
    return next((path for path in candidates if path.is_file()), None)


def _found(where: Sequence[Path], split: Split) -> tuple[Path, Path] | None:
    """The file of a split's pictures, and that of its labels."""
    for folder in where:
        pixels = _file(folder, f"{STEMS[split]}-images-idx3-ubyte")
        labels = _file(folder, f"{STEMS[split]}-labels-idx1-ubyte")
        if pixels and labels:
            return pixels, labels
    return None


@cache
def _mnist(stem: str, pixel_file: Path, label_file: Path) -> Pictures:
    pixels, pixel_sum = _read_idx(pixel_file)
    labels, label_sum = _read_idx(label_file)
    if pixels.ndim != 3 or labels.ndim != 1 or len(pixels) != len(labels):
        raise TechnicalError(
            f"{pixel_file} and {label_file} do not belong together: they hold arrays of shape "
            f"{pixels.shape} and {labels.shape}. Delete both; they are downloaded again."
        )
    sums = {
        f"MNIST {stem}-images-idx3-ubyte": pixel_sum,
        f"MNIST {stem}-labels-idx1-ubyte": label_sum,
    }
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
    name = "scikit-learn digits"
    sums = {name: hashlib.sha256(content).hexdigest()}
    return Pictures(loaded.data / 16.0, labels, sums, STAND_IN)


# ---------------------------------------------------------------------------------------- download


@cache
def _try_download(folder: Path) -> None:
    """Downloads MNIST into a folder, or notes there and in the log why not; once per process."""
    note = folder / FAILED
    try:
        _download(folder)
    except Exception as error:  # no network, a full disk, a mirror's answer: all end the same way
        _log.warning(
            "MNIST cannot be downloaded (%s): using its other split, if it is there, or %s",
            error,
            STAND_IN,
        )
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            note.write_text(f"{error}\n", encoding="utf-8")
    else:
        note.unlink(missing_ok=True)


def _download(folder: Path) -> None:
    from torchvision.datasets import MNIST

    if not _answers(MNIST.mirrors):
        raise ConnectionError(f"no mirror answers within {PROBE_SECONDS:g} s")
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=folder) as unfinished,
        _socket_timeout(STALL_SECONDS),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),  # progress bars, which the caller draws itself
    ):
        MNIST(unfinished, train=True, download=True)
        target = folder / "MNIST" / "raw"
        target.mkdir(parents=True, exist_ok=True)
        for file in Path(unfinished, "MNIST", "raw").iterdir():
            file.replace(target / file.name)  # whole files only, whatever happens


def _answers(mirrors: Sequence[str]) -> bool:
    """True if one of the mirrors answers. In threads: resolving a name knows no time limit."""
    reached = threading.Event()

    def probe(url: str) -> None:
        try:
            request = urllib.request.Request(url, method="HEAD")
            urllib.request.urlopen(request, timeout=PROBE_SECONDS).close()
        except urllib.error.HTTPError:
            reached.set()  # a refusal to list a folder is an answer
        except (OSError, http.client.HTTPException):
            return
        reached.set()

    threads = [threading.Thread(target=probe, args=(url,), daemon=True) for url in mirrors]
    for thread in threads:
        thread.start()
    return _first(reached, threads)


def _first(reached: threading.Event, threads: Sequence[threading.Thread]) -> bool:
    """Waits until one thread reaches its mirror, all have given up, or the time is over."""
    for _ in range(int(PROBE_SECONDS / 0.1)):
        if reached.wait(0.1) or not any(thread.is_alive() for thread in threads):
            break
    return reached.is_set()


@contextlib.contextmanager
def _socket_timeout(seconds: float) -> Iterator[None]:
    earlier = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(earlier)
