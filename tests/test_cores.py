"""The cores that a process may use, on systems that tell and on systems that do not."""

import os

import pytest

from reproaudit.run.devices import KERNEL_VARIABLES, available_cores, processor


@pytest.mark.parametrize(
    ("allowed", "counted", "cores"),
    [({0, 3, 5}, 64, 3), ({2}, 64, 1), (set(), 64, 1), (None, 4, 4), (None, None, 1)],
)
def test_only_the_cores_that_this_process_is_allowed_count(monkeypatch, allowed, counted, cores):
    monkeypatch.setattr(os, "cpu_count", lambda: counted)
    monkeypatch.setattr(os, "sched_getaffinity", {0: allowed}.__getitem__, raising=False)
    if allowed is None:
        monkeypatch.delattr(os, "sched_getaffinity")
    assert available_cores() == cores


def test_what_chooses_kernels_is_a_part_of_the_processor(monkeypatch):
    for name in KERNEL_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    plain = processor()
    assert "=" not in plain
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setenv("MKL_CBWR", "")  # as if it were not set
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    assert processor() == f"{plain}, ATEN_CPU_CAPABILITY=avx2, OPENBLAS_CORETYPE=Haswell"
