"""Options and layers of the test suite, runs without workers, and the browser."""

import gc
import importlib
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings


def pytest_configure(config: pytest.Config) -> None:
    """A shell starts background jobs deaf to Ctrl-C, and so would be what the tests interrupt.

    What the tests run is their own code. Libraries compute on one thread unless a test asks for
    more: each core has a worker of its own, and threads that wait for each other there take many
    times as long as the sums.
    """
    examples = 100 if config.getoption("--slow") else 25
    settings.register_profile("reproaudit", max_examples=examples, deadline=None)
    settings.load_profile("reproaudit")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["REPROAUDIT_TRUST"] = "1"
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # pytester forgets what its runs import, and a second `Experiment` would not be the first
    importlib.import_module("reproaudit.lab.experiment")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests that take long, too")
    parser.addoption("--process", action="store_true", help="run the layer `process` alone")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the other layer, and skip what takes long; with ``--slow`` all is run."""
    if config.getoption("--slow"):
        return
    wanted = config.getoption("--process")
    other = [item for item in items if ("process" in item.keywords) != wanted]
    config.hook.pytest_deselected(items=other)
    items[:] = [item for item in items if ("process" in item.keywords) == wanted]
    skip = pytest.mark.skip(reason="takes long; run with --slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end, and need not be searched for garbage again and again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Libraries take what is left at the end for a leak."""
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps what reports are made of out of the user's own cache."""
    with pytest.MonkeyPatch.context() as patch:
        if "REPROAUDIT_CACHE" not in os.environ:
            patch.setenv("REPROAUDIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


class Said(NamedTuple):
    """What a command printed."""

    out: str
    err: str

    @property
    def data(self) -> Any:
        """What it printed as JSON."""
        return json.loads(self.out)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Runs a command in this process; it must end with an exit code."""
    from reproaudit.cli import run_command

    def call(*words: object, code: int = 0) -> Said:
        capsys.readouterr()
        ended = run_command([*map(str, words)])
        said = Said(*capsys.readouterr())
        assert ended == code, said.err
        assert "Traceback" not in said.err
        return said

    return call


@pytest.fixture(scope="module")
def measured_here() -> Iterator[None]:
    """Lets runs measure in this process."""
    from cells import InProcess
    from reproaudit.run import cells as run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "LocalProcesses", lambda *_: InProcess())
        yield


@pytest.fixture(scope="module")
def coarse_law() -> Iterator[None]:
    """Chooses the scalars of ahn2023's built solutions on a coarse law, which takes no time."""
    from reproaudit.papers.ahn2023 import training

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "LAW_POINTS", 500)
        training.best_scalars.cache_clear()
        yield
    training.best_scalars.cache_clear()


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> list[BaseProcess]:
    """The processes of the workers that are started from here on."""
    executors = importlib.import_module("reproaudit.run.executors.local")
    started: list[BaseProcess] = []
    start = executors._Worker.__init__

    def note(self: Any) -> None:
        start(self)
        started.append(self.process)

    monkeypatch.setattr(executors._Worker, "__init__", note)
    return started


@pytest.fixture
def one_thread() -> Iterator[None]:
    """One thread for PyTorch: what is computed is too small to share."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium. It ends with its module: while it lives, no other test can run an event loop."""
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("needs Chromium on the path")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        one = driver.chromium.launch(executable_path=chromium, args=sandbox)
        yield one
        one.close()


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Path]]:
    """A named data folder and a cache folder, both empty, no package and no network."""
    images = importlib.import_module("reproaudit.lab.images")
    named, cached = tmp_path / "named", tmp_path / "cache"
    named.mkdir()
    monkeypatch.setenv(images.DATA_VARIABLE, str(named))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cached))

    def no_network(*_args: object, **_options: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("urllib.request.urlopen", no_network)
    monkeypatch.setattr(images, "PACKAGE", "no-package-of-this-name")
    images._packaged.cache_clear()
    yield named, cached / "reproaudit"
    images._packaged.cache_clear()
