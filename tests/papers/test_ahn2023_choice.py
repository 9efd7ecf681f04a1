"""The fallback of ahn2023 without a compiler, and how stale compiled code is kept out."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

import reproaudit
from papers.ahn2023_checks import close
from papers.test_ahn2023 import Memory, measure, settings
from reproaudit.papers.ahn2023 import fast, minibatches, task
from reproaudit.papers.ahn2023.experiments import EXPERIMENTS
from reproaudit.papers.ahn2023.fast import choice, gradient_code, kernel, sampler, vector_code
from reproaudit.papers.ahn2023.fast.learners import BatchedLearner

FAST = "reproaudit.papers.ahn2023.fast"


def forget() -> None:
    for made in (choice.compiles_here, gradient_code.group_code, sampler._group_code):
        made.cache_clear()  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _untried() -> Iterator[None]:
    forget()
    yield
    forget()


def no_target(*_arguments: Any) -> None:
    raise RuntimeError("no target for this processor\nand a second line")


def no_typing(*_arguments: Any, **_named: Any) -> None:
    raise TypingError("cannot type this")


@pytest.mark.parametrize(
    ("module", "name", "broken", "said"),
    [
        pytest.param(
            vector_code.CompiledCode,
            "__init__",
            no_target,
            "RuntimeError: no target for this proc",
            marks=pytest.mark.slow,
        ),
        (kernel, "_advance", no_typing, "TypingError: cannot type this"),
        (sys.modules, FAST + ".kernel", None, "halted; None in sys.modules"),
    ],
    ids=["llvm", "numba", "import"],
)
def test_without_a_compiler_everything_runs_with_one_warning(
    module: Any,
    name: str,
    broken: Any,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = {free: measure("full", 3, b_matrices=free)[3] for free in ("free", "zero")}
    forget()
    if module is sys.modules:  # as where Numba is not installed
        monkeypatch.setitem(module, name, broken)
        monkeypatch.delattr(fast, "kernel")
    else:
        monkeypatch.setattr(module, name, broken)
    with caplog.at_level(logging.WARNING):
        for free, compiled in expected.items():
            chosen = settings("full", b_matrices=free)
            plain = EXPERIMENTS["full"].measure(chosen, Memory(3))[3]
            for key, series in compiled.series.items():
                np.testing.assert_allclose(plain.series[key].values, series.values, rtol=1e-6)
            for key, array in compiled.arrays.items():
                close(plain.arrays[key], array, 1e-6)
            assert plain.scalars == pytest.approx(compiled.scalars, rel=1e-6)
    (warning,) = caplog.records
    assert said in warning.getMessage()
    assert "PyTorch runs in its place" in warning.getMessage()
    assert "\n" not in warning.getMessage()


def test_shuffled_targets_and_several_depths_run_without_a_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = {"depths": (1, 3), "targets": "shuffled"}
    compiled = measure("depth", 1, **chosen)[1]
    forget()
    monkeypatch.setattr(vector_code.CompiledCode, "__init__", no_target)
    plain = measure("depth", 1, **chosen)[1]
    close(plain.series["training_loss"].values, compiled.series["training_loss"].values, 1e-6)


def test_with_a_compiler_it_is_used(caplog: pytest.LogCaptureFixture) -> None:
    assert choice.compiles_here()
    assert not caplog.records
    zeros = np.zeros((1, 1, 5, 5))
    schedule = object()
    learner = choice.make_learner([lambda _index: None], zeros, zeros, schedule, "cpu")  # type: ignore[arg-type, list-item, return-value]
    assert not isinstance(learner, BatchedLearner)


def test_numba_compiles_nothing_of_ours_from_another_file() -> None:
    """Numba's cache knows the file of a function only, so a change elsewhere must not matter."""
    compiled = {
        name: function
        for name, function in vars(kernel).items()
        if isinstance(function, numba.core.registry.CPUDispatcher)
    }
    assert "_advance" in compiled
    for name, function in compiled.items():
        for used in function.py_func.__code__.co_names:
            value = vars(kernel).get(used)
            if isinstance(value, int | float | None) or value is numba or value is np:
                continue
            assert getattr(value, "__module__", None) == kernel.__name__, (name, used)
    constants = {used for f in compiled.values() for used in f.py_func.__code__.co_names}
    imported = [
        used
        for used in constants
        if isinstance(vars(kernel).get(used), int | float)
        and f"\n{used} = " not in Path(kernel.__file__).read_text(encoding="utf-8")
    ]
    assert not imported  # a constant of another file is compiled in, too


LOSS = """
import numpy as np
from reproaudit.papers.ahn2023.fast import kernel
from reproaudit.papers.ahn2023.fast.prompts import pack
A = -0.3 * np.eye(2)[None].repeat(2, axis=0)
prompt = pack(np.eye(2)[None], np.ones((1, 2)), np.ones((1, 2)))
loss, dA, _ = kernel.loss_and_gradient(prompt, A, A)
print(loss, dA.sum(), sum(kernel._loss_and_gradient.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_a_change_of_the_generator_is_not_hidden_by_a_cache(tmp_path: Path) -> None:
    source = tmp_path / "reproaudit"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(reproaudit.__file__).parent, source, ignore=ignored)
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "NUMBA_NUM_THREADS": "1",
    }

    def run() -> tuple[float, float, int]:
        command = [sys.executable, "-c", LOSS]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        loss, gradient, hits = ran.stdout.split()
        return float(loss), float(gradient), int(hits)

    first, second = run(), run()
    assert first[:2] == second[:2]
    assert (first[2], second[2]) == (0, 1)  # what does not depend on the generator is reused
    tape = source / "papers" / "ahn2023" / "fast" / "tape.py"
    text = tape.read_text(encoding="utf-8")
    changed = text.replace("return self.code.multiply(a, b)", "return self.code.add(a, b)")
    assert changed != text
    tape.write_text(changed, encoding="utf-8")
    third = run()
    assert third[0] != first[0]
    assert third[1] != first[1]


def test_the_trial_leaves_no_trace_in_the_streams() -> None:
    """A draw is the same before and after the compiled form was tried."""
    stream = minibatches.Stream.of(0, "x", 0)
    before = sampler.draw_minibatch(task.isotropic(2), 20, 3, stream).data
    assert choice.compiles_here()
    np.testing.assert_array_equal(
        sampler.draw_minibatch(task.isotropic(2), 20, 3, stream).data, before
    )
