"""Sources: exactly what is pinned, and nothing that leads out of its folder."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from outsiders import commit

from reproaudit.repositories.environments import copy_source
from reproaudit.repositories.processes import CommandError
from reproaudit.repositories.run_file import PinnedSource


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPROAUDIT_CACHE", str(tmp_path / "cache"))


def unpacked(folder: Path, source: PinnedSource, name: str = "copy") -> Path:
    into = folder / name
    into.mkdir()
    copy_source(source, folder, into, lambda: None)
    return into


def pinned(file: Path) -> PinnedSource:
    return PinnedSource(archive=file.name, sha256=hashlib.sha256(file.read_bytes()).hexdigest())


def repository(folder: Path, name: str = "repository") -> tuple[Path, str]:
    place = folder / name
    place.mkdir()
    (place / "train.py").write_text("first\r\n")
    return place, commit(place)


def test_a_repository_at_a_revision_and_not_at_its_head_is_fetched_once(tmp_path: Path) -> None:
    place, first = repository(tmp_path)
    (place / "train.py").write_text("second\n")
    commit(place)
    source = PinnedSource(git="repository", revision=first)
    copy = unpacked(tmp_path, source)
    assert (copy / "train.py").read_bytes() == b"first\r\n"
    assert [one.name for one in copy.iterdir()] == ["train.py"]
    (copy / "train.py").write_text("changed by a command")
    place.rename(tmp_path / "gone")
    assert (unpacked(tmp_path, source, "again") / "train.py").read_bytes() == b"first\r\n"
    with pytest.raises(CommandError, match=r"no commit 1{40}; expected it \(git ended with exit"):
        unpacked(tmp_path, PinnedSource(git="repository", revision="1" * 40), "other")


def test_links_and_hooks_of_a_repository_do_nothing(tmp_path: Path) -> None:
    place = tmp_path / "repository"
    place.mkdir()
    (place / "link").symlink_to("/etc/passwd")
    (place / ".gitattributes").write_text("* filter=evil\n")
    revision = commit(place)
    hook = place / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
    hook.chmod(0o755)
    copy = unpacked(tmp_path, PinnedSource(git="repository", revision=revision))
    assert not (copy / "link").is_symlink()
    assert (copy / "link").read_text() == "/etc/passwd"
    assert not (tmp_path / "hooked").exists()


def test_a_submodule_is_refused(tmp_path: Path) -> None:
    place, first = repository(tmp_path)
    entry = f"160000,{first},inner"
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for order in (["update-index", "--add", "--cacheinfo", entry], ["commit", "-qm", "inner"]):
        subprocess.run([*git, *order], cwd=place, check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], cwd=place, check=True, capture_output=True)
    revision = head.stdout.decode().strip()
    with pytest.raises(CommandError, match="found the submodule 'inner'; expected none"):
        unpacked(tmp_path, PinnedSource(git="repository", revision=revision))


def test_an_archive_is_held_to_its_checksum_every_time(tmp_path: Path) -> None:
    file = tmp_path / "source.zip"
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("a/train.py", "one")
    source = pinned(file)
    assert (unpacked(tmp_path, source) / "a" / "train.py").read_text() == "one"
    file.write_bytes(b"another")
    with pytest.raises(CommandError, match="It is another archive"):
        unpacked(tmp_path, source, "again")


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "a/../../outside", "C:/outside"])
@pytest.mark.parametrize("form", ["zip", "tar"])
def test_names_that_lead_out_of_an_archive_are_refused(
    tmp_path: Path, name: str, form: str
) -> None:
    file = tmp_path / f"source.{form}"
    if form == "zip":
        with zipfile.ZipFile(file, "w") as packed:
            packed.writestr(name, "x")
    else:
        with tarfile.open(file, "w") as packed_tar:
            entry = tarfile.TarInfo(name)
            entry.size = 1
            packed_tar.addfile(entry, io.BytesIO(b"x"))
    with pytest.raises(CommandError, match="which leads out of it"):
        unpacked(tmp_path, pinned(file))
    assert not list(tmp_path.rglob("outside"))


def test_links_and_devices_of_an_archive_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "source.tar"
    with tarfile.open(file, "w") as packed:
        for name, kind in (("link", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE),
                           ("pipe", tarfile.FIFOTYPE), ("device", tarfile.CHRTYPE)):  # fmt: skip
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/passwd"
            packed.addfile(entry)
        entry = tarfile.TarInfo("train.py")
        packed.addfile(entry, io.BytesIO(b""))
    copy = unpacked(tmp_path, pinned(file))
    assert os.listdir(copy) == ["train.py"]


def test_what_is_no_archive_or_not_there_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "source.zip").write_text("no archive")
    with pytest.raises(CommandError, match="found an archive that cannot be unpacked"):
        unpacked(tmp_path, pinned(tmp_path / "source.zip"))
    with pytest.raises(CommandError, match=r"absent\.zip: cannot be read"):
        unpacked(tmp_path, PinnedSource(archive="absent.zip", sha256="0" * 64), "b")
    with pytest.raises(CommandError, match=r"expected an archive, \.zip"):
        unpacked(tmp_path, PinnedSource(archive="source.rar", sha256="0" * 64), "c")
