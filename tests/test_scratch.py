"""A folder of passing things goes with its process: at once, or with the next such folder."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from reproaudit.files import scratch_folder

WAITS = (
    "import time\n"
    "from reproaudit.files import scratch_folder\n"
    "with scratch_folder() as folder:\n"
    "    (folder / 'log').write_text('1')\n"
    "    print(folder, flush=True)\n"
    "    time.sleep(60)\n"
)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, here and in programs that are started."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def test_what_a_killed_process_left_is_removed_and_nothing_else(temporary):
    for name in ("reproaudit-0123456", "scratch", "reproaudit-held-file"):
        (temporary / name).touch()
    others = temporary.parent / "others"
    others.mkdir()
    (others / "kept").touch()
    (temporary / "reproaudit-held-link").symlink_to(others)
    before = set(temporary.iterdir())
    process = subprocess.Popen([sys.executable, "-c", WAITS], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        theirs = Path(process.stdout.readline().strip())
        assert theirs.parent.parent == temporary
        with scratch_folder() as ours, scratch_folder():
            assert (theirs / "log").exists(), "it is in use"
            assert ours.exists()
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert theirs.exists()
    with scratch_folder() as ours:
        assert not theirs.exists()
        assert set(temporary.iterdir()) == {ours.parent, *before}
    assert set(temporary.iterdir()) == before
    assert (others / "kept").exists()


def test_it_goes_when_something_is_raised(temporary):
    with pytest.raises(FileNotFoundError), scratch_folder() as folder:
        (folder / "log" / "log").touch()
    assert os.listdir(temporary) == []


def test_where_locks_are_unknown_it_is_not_taken_for_free(temporary):
    def refuse(*_: object) -> None:
        raise OSError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fcntl.flock", refuse)
        with scratch_folder() as folder, scratch_folder():
            patch.undo()
            with scratch_folder():
                assert folder.exists()
    assert os.listdir(temporary) == []
