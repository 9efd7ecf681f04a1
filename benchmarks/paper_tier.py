"""What the paper tier took, by the seconds of the shipped records; ``make bench-paper-tier``.

A record's seconds are those between its start and its end, in a worker with one thread; what else
the machine did meanwhile counts with them.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from reproaudit.store.shipped import FILE_NAME, unpack_records

REPORTS = Path(__file__).parents[1] / "reports" / "paper"


def main() -> None:
    """Print a row for each paper and experiment, as Markdown."""
    print("| paper | experiment | runs | core-minutes |\n|---|---|---:|---:|")
    whole = 0.0
    for archive in sorted(REPORTS.glob(f"*/{FILE_NAME}")):
        paper = archive.parent.name
        with TemporaryDirectory() as folder:
            store = unpack_records(archive, Path(folder))
            seconds: dict[str, list[float]] = {}
            for file in store.files(paper, "paper"):
                if (record := store.read(file)) is not None:
                    seconds.setdefault(record.experiment, []).append(record.seconds)
        for experiment, found in sorted(seconds.items()):
            print(f"| {paper} | {experiment} | {len(found)} | {sum(found) / 60:.1f} |")
            whole += sum(found)
    print(f"together: {whole / 3600:.2f} core-hours")


if __name__ == "__main__":
    main()
