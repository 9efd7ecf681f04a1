"""TensorBoard event files: every point, no damaged byte."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import encoders
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import points, told_in_one_line

from reproaudit.logs import tensorboard
from reproaudit.logs.logged import LogError, LoggedRun, LogSource

FILE = "events.out.tfevents.1700000000.host"
SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

singles = st.floats(width=32, allow_nan=False)
logged = st.lists(st.tuples(st.integers(-(2**53), 2**53), singles), min_size=1, max_size=30)


def read(file: Path, *more: Path) -> LoggedRun:
    (run,) = tensorboard.read_event_files(LogSource(file.parent, "run", ("run",)), (file, *more))
    return run


@SHARED
@given(st.dictionaries(st.text(min_size=1, max_size=9), logged, min_size=1, max_size=4))
def test_what_was_written_is_read(
    tmp_path: Path, curves: dict[str, list[tuple[int, float]]]
) -> None:
    run = read(encoders.event_file(tmp_path / FILE, curves))
    read_as = {tag: sorted(own) if is_unsorted(own) else own for tag, own in curves.items()}
    assert {tag: points(run, tag) for tag in run.curves} == read_as


def is_unsorted(curve: list[tuple[int, float]]) -> bool:
    """Whether each step stands once and more than a quarter of the moves go back."""
    steps = [step for step, _ in curve]
    back = sum(later < earlier for earlier, later in pairwise(steps))
    return len(set(steps)) == len(steps) and 4 * back > len(steps) - 1


def test_every_point_of_a_long_series_is_read_not_a_sample(tmp_path: Path) -> None:
    curve = [(step, float(step)) for step in range(3000)]
    run = read(encoders.event_file(tmp_path / FILE, {"loss": curve}))
    assert points(run, "loss") == curve


def test_scalars_as_tensors_are_read(tmp_path: Path) -> None:
    records = [
        encoders.event(0, encoders.hparams({"lr": 0.1})),
        encoders.event(2, encoders.tensor("double", 0.2)),
        encoders.event(3, encoders.tensor("double", 0.1), encoders.tensor("single", 0.5, dtype=1)),
        encoders.event(4, encoders.part(1, "text") + encoders.part(8, encoders.number(1, 7))),
    ]
    (tmp_path / FILE).write_bytes(b"".join(map(encoders.tf_record, records)))
    run = read(tmp_path / FILE)
    assert (points(run, "double"), points(run, "single")) == ([(2, 0.2), (3, 0.1)], [(3, 0.5)])
    assert "text" not in run.curves


def test_pictures_are_passed_over(tmp_path: Path) -> None:
    picture = encoders.event(1, encoders.part(1, "img") + encoders.part(4, bytes(2**17)))
    scalar = encoders.event(2, encoders.simple("loss", 1.0))
    (tmp_path / FILE).write_bytes(encoders.tf_record(picture) + encoders.tf_record(scalar))
    assert points(read(tmp_path / FILE), "loss") == [(2, 1.0)]


def test_the_files_of_one_folder_are_one_run(tmp_path: Path) -> None:
    first = encoders.event_file(tmp_path / FILE, {"loss": [(0, 1.0)]})
    second = encoders.event_file(tmp_path / f"{FILE}.1", {"loss": [(1, 0.5)]})
    assert points(read(first, second), "loss") == [(0, 1.0), (1, 0.5)]


def test_a_file_cut_anywhere_is_told_or_ends_at_a_record(tmp_path: Path) -> None:
    whole = encoders.event_file(tmp_path / FILE, {"loss": [(s, 1.0) for s in range(4)]})
    data = whole.read_bytes()
    ends, at = {0}, 0
    while at < len(data):
        at += 16 + int.from_bytes(data[at : at + 8], "little")
        ends.add(at)
    for size in range(len(data)):
        whole.write_bytes(data[:size])
        if size in ends:
            read(whole)
        else:
            with pytest.raises(LogError, match="truncated"):
                read(whole)


@SHARED
@given(st.data())
def test_a_changed_byte_never_passes(tmp_path: Path, data: st.DataObject) -> None:
    file = encoders.event_file(tmp_path / FILE, {"loss": [(s, 1.5) for s in range(5)]})
    content = bytearray(file.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content)
    with pytest.raises(LogError):
        read(file)


@SHARED
@given(st.binary(max_size=200))
def test_any_event_that_its_checksum_vouches_for_is_read_or_refused(
    tmp_path: Path, record: bytes
) -> None:
    (tmp_path / FILE).write_bytes(encoders.tf_record(record))
    with told_in_one_line():
        read(tmp_path / FILE)
