"""Sources: exactly what is pinned, and nothing that leads out of its folder."""

import sys
from pathlib import Path

import pytest
from outsiders import commit

from miniatures import git
from reproaudit.repositories.environments import copy_source
from reproaudit.repositories.processes import CommandError
from reproaudit.repositories.requirements import cache_of
from reproaudit.repositories.run_file import PinnedSource


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPROAUDIT_CACHE", str(tmp_path / "cache"))


@pytest.mark.skipif(sys.platform != "linux", reason="the folders of Linux")
def test_sources_and_environments_are_kept_in_the_users_cache(tmp_path, monkeypatch):
    for name in ("REPROAUDIT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_of("git", "address").parent == tmp_path / ".cache" / "reproaudit" / "git"
    monkeypatch.setenv("XDG_CACHE_HOME", "of/no/meaning/as/it/is/relative")
    assert cache_of("git", "address").parent == tmp_path / ".cache" / "reproaudit" / "git"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    assert cache_of("git", "address").parent == tmp_path / "own" / "reproaudit" / "git"
    monkeypatch.setenv("REPROAUDIT_CACHE", str(tmp_path / "named"))
    assert cache_of("git", "address").parent == tmp_path / "named" / "git"


def unpacked(folder: Path, source: PinnedSource, name: str = "copy") -> Path:
    into = folder / name
    into.mkdir()
    copy_source(source, folder, into, lambda: None)
    return into


def repository(folder: Path, name: str = "repository") -> tuple[Path, str]:
    place = folder / name
    place.mkdir()
    (place / "train.py").write_text("first\r\n")
    return place, commit(place)


def test_a_repository_at_a_revision_and_not_at_its_head_is_fetched_once(tmp_path):
    place, first = repository(tmp_path)
    (place / "train.py").write_text("second\n")
    commit(place)
    source = PinnedSource(git="repository", revision=first)
    copy = unpacked(tmp_path, source)
    assert (copy / "train.py").read_bytes() == b"first\r\n"
    assert [path.name for path in copy.iterdir()] == ["train.py"]
    (copy / "train.py").write_text("changed by a command")
    place.rename(tmp_path / "gone")
    assert (unpacked(tmp_path, source, "again") / "train.py").read_bytes() == b"first\r\n"
    with pytest.raises(CommandError, match=r"no commit 1{40}; expected it \(git ended with exit"):
        unpacked(tmp_path, PinnedSource(git="repository", revision="1" * 40), "other")


def test_links_hooks_and_filters_of_a_repository_do_nothing(tmp_path, monkeypatch):
    place = tmp_path / "repository"
    place.mkdir()
    (place / "link").symlink_to("/etc/passwd")
    (place / ".gitattributes").write_text("* filter=evil\n")
    revision = commit(place)
    hook = place / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\n")
    hook.chmod(0o755)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "filter.evil.smudge")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"touch {tmp_path}/filtered; cat")
    copy = unpacked(tmp_path, PinnedSource(git="repository", revision=revision))
    assert not (copy / "link").is_symlink()
    assert (copy / "link").read_text() == "/etc/passwd"
    assert not (tmp_path / "hooked").exists()
    assert not (tmp_path / "filtered").exists()


def test_a_submodule_is_refused(tmp_path):
    place, first = repository(tmp_path)
    entry = f"160000,{first},inner"
    git(place, "update-index", "--add", "--cacheinfo", entry)
    git(place, "commit", "-qm", "inner")
    revision = git(place, "rev-parse", "HEAD")
    with pytest.raises(CommandError, match="found the submodule 'inner'; expected none"):
        unpacked(tmp_path, PinnedSource(git="repository", revision=revision))
