"""How long `reproaudit check` takes: a hundred audits of ahn2023's size, and the shipped ones.

Processor time of the whole command, start included, in a process of its own; the least of several,
since what other programs do on the machine only ever adds. A hundred audits stay below a second.
Run with ``make bench-check``; another checkout's ``src`` as the argument is measured in turn with
this one's, so that both see the same machine.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from reproaudit.audit.catalog import shipped_audits

HERE = Path(__file__).parent
SIZE, ROUNDS, LIMIT_S = 100, 5, 1.0
LIKE = "ahn2023"


def write_audits(folder: Path) -> list[Path]:
    """Copies of one shipped audit, each with a slug of its own."""
    text = (shipped_audits() / f"{LIKE}.yaml").read_text(encoding="utf-8")
    written = []
    for i in range(SIZE):
        slug = f"copy{i:03}"
        written.append(folder / f"{slug}.yaml")
        written[-1].write_text(text.replace(LIKE, slug), encoding="utf-8")
    return written


def seconds(source: Path, files: Sequence[Path]) -> float:
    """Processor time of one `reproaudit check` with the code below `source`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "reproaudit", "check", *map(str, files)]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main(arguments: Sequence[str]) -> int:
    """Prints the figures; exit code 1 if a hundred audits take longer than the limit."""
    sources = [*map(Path, arguments), HERE.parent / "src"]
    with tempfile.TemporaryDirectory() as folder:
        files = write_audits(Path(folder))
        for source in sources:
            seconds(source, ())  # so that everything is compiled
        many = [[seconds(source, files) for source in sources] for _ in range(ROUNDS)]
        few = [[seconds(source, ()) for source in sources] for _ in range(ROUNDS)]
    for i, source in enumerate(sources):
        hundred, shipped = min(row[i] for row in many), min(row[i] for row in few)
        print(f"{source}: {SIZE} audits {hundred:.2f} s, the shipped ones {shipped:.2f} s")
    return int(min(row[-1] for row in many) > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
