"""Several papers of a report, judged at once: this process and others take them in turn.

No paper is given out: whoever is free takes the largest one that nobody has taken yet. The numbers
wait in a pipe, from which a process that is killed cannot keep the others.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from threading import Thread

from reproaudit.commands.one_paper import PaperReport, report_of
from reproaudit.commands.reporting import ReportRequest
from reproaudit.errors import TechnicalError
from reproaudit.running.cores import available_cores
from reproaudit.running.memo import one_moment, tool_files
from reproaudit.running.store import Store

FEWEST_FOR_PROCESSES = 8
"""Fewer papers are judged before another process has started."""

MOST_TURNS = 10_000
"""A pipe holds the numbers of so many turns; of more papers, several are one turn."""


def reports_of_papers(request: ReportRequest) -> Iterator[PaperReport]:
    """Judges papers and writes their pages; yields them in their order.

    Raises:
        TechnicalError: if a process that judges is killed.
    """
    papers = len(request.entries)
    others = min(available_cores(), papers // (FEWEST_FOR_PROCESSES // 2)) - 1
    if others < 1:
        yield from _judged(request, range(papers))
        return
    turns, context = _turns(request), _context()
    waiting, filled = context.Pipe(duplex=False)
    with waiting:
        with filled:
            os.write(filled.fileno(), b"".join(_number(turn) for turn in range(len(turns))))
        prepared = os.getcwd(), gc.get_threshold(), waiting
        pool = ProcessPoolExecutor(others, context, _prepare, prepared)
        try:
            theirs = [pool.submit(_judge_as_other, request, turns) for _ in range(others)]
            found = _judge_in_turn(request, turns, waiting)
            for one in theirs:
                found |= one.result()
        except BrokenProcessPool as error:
            raise TechnicalError(
                "a process that judged a paper was ended from outside, perhaps for want of memory. "
                "What it had written is whole; report fewer papers at once, by name."
            ) from error
        finally:
            deque(_taken(waiting), maxlen=0)  # after an interruption, no more turns for the others
            pool.shutdown(wait=False, cancel_futures=True)  # they end while the register is written
    yield from (found[place] for place in range(papers))


def _context() -> BaseContext:
    """The way in which processes start: as copies of this one, with all that it has imported.

    A process with threads starts others anew: a copy would lack the threads, and may wait for them.
    """
    try:
        has_threads = len(os.listdir("/proc/self/task")) > 1  # of libraries, too
    except OSError:
        has_threads = True
    return multiprocessing.get_context("spawn" if has_threads else "fork")


Turns = list[list[int]]
"""The places in the request of the papers that are judged in one turn, which are one as a rule."""


def _turns(request: ReportRequest) -> Turns:
    """The turns in their order: papers of the most records come first."""
    listed = Store(request.store).manifest.digests()
    counts = Counter(path.partition("/")[0] for path in listed)
    slugs = [entry.slug for entry in request.entries]
    order = sorted(range(len(slugs)), key=lambda place: -counts[slugs[place]])
    return [order[first::MOST_TURNS] for first in range(min(len(order), MOST_TURNS))]


def _number(turn: int) -> bytes:
    return turn.to_bytes(4, "big")


def _judge_in_turn(
    request: ReportRequest, turns: Turns, waiting: Connection
) -> dict[int, PaperReport]:
    """Judges one paper after the other, as long as turns wait; by place in the request."""
    mine: list[int] = []

    def places() -> Iterator[int]:
        for turn in _taken(waiting):
            for place in turns[turn]:
                mine.append(place)
                yield place

    found = list(_judged(request, places()))
    return dict(zip(mine, found, strict=True))


def _taken(waiting: Connection) -> Iterator[int]:
    """Takes one turn after the other out of the pipe; no two processes get the same one."""
    while number := os.read(waiting.fileno(), len(_number(0))):
        yield int.from_bytes(number, "big")


def _judged(request: ReportRequest, places: Iterable[int]) -> Iterator[PaperReport]:
    with one_moment():
        store, tool = Store(request.store), tool_files()
        for place in places:
            yield report_of(request.entries[place], request, store, tool)


# --- another process ----------------------------------------------------------------------------


_waiting: list[Connection] = []
"""In another process: where it takes its turns."""


def _prepare(folder: str, collecting: tuple[int, int, int], waiting: Connection) -> None:
    os.chdir(folder)
    gc.set_threshold(*collecting)
    _waiting.append(waiting)
    Thread(target=_end_with_the_command, daemon=True).start()


def _end_with_the_command() -> None:
    """Ends this process when the command was killed; it would go on without it."""
    command = multiprocessing.parent_process()
    if command is not None:
        command.join()
        os._exit(1)


def _judge_as_other(request: ReportRequest, turns: Turns) -> dict[int, PaperReport]:
    return _judge_in_turn(request, turns, _waiting[0])
