"""Small files in MNIST's format."""

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def idx(values: NDArray[np.uint8]) -> bytes:
    header = bytes([0, 0, 8, values.ndim])
    return header + np.array(values.shape, ">u4").tobytes() + values.tobytes()


def write_split(folder: Path, split: str, *, zipped: bool, seed: int = 0, count: int = 40) -> None:
    draw = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {
        f"{split}-images-idx3-ubyte": draw.integers(0, 256, (count, 5, 4), np.uint8),
        f"{split}-labels-idx1-ubyte": (np.arange(count) % 4).astype(np.uint8),
    }
    for name, values in arrays.items():
        if zipped:
            (folder / f"{name}.gz").write_bytes(gzip.compress(idx(values)))
        else:
            (folder / name).write_bytes(idx(values))
