"""The register of 200 papers: how long it takes to write, and to write again after one changed.

Each paper is a copy of one of the committed scorecards under a name of its own. Times are CPU time,
since other work on the machine must not count. Run with ``make bench-scaling``.

* anew: every scorecard is read, and everything below the register's folder is written; below 20 s.
* again: one scorecard has changed, all else is as it was; below 2 s.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from reproaudit.reports.files import read_scorecard, write_report
from reproaudit.reports.register.writing import refresh_register, write_register
from reproaudit.scorecard.model import Scorecard

HERE = Path(__file__).parent
COMMITTED = HERE.parent / "reports" / "paper"
PAPERS = 200
LIMITS = {"anew_s": 20.0, "again_s": 2.0}


def copies(count: int) -> list[Scorecard]:
    """So many scorecards, from the committed ones in turn."""
    cards = [read_scorecard(file) for file in sorted(COMMITTED.glob("*/scorecard.json"))]
    return [_renamed(cards[number % len(cards)], f"paper{number:03}") for number in range(count)]


def _renamed(card: Scorecard, slug: str) -> Scorecard:
    own = str(card.paper["slug"])
    claims = tuple(
        one.model_copy(update={"id": one.id.replace(f"{own}.", f"{slug}.", 1)})
        for one in card.claims
    )
    return card.model_copy(update={"paper": {**card.paper, "slug": slug}, "claims": claims})


def bench() -> dict[str, float]:
    """Every figure, in seconds of CPU time and in bytes."""
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        cards = copies(PAPERS)
        for card in cards:
            write_report(card, out, ["json"])
        began = time.process_time()
        (page,) = write_register(cards[:1], out)
        anew = time.process_time() - began
        size = page.stat().st_size
        changed = cards[7].model_copy(update={"claims": cards[7].claims[:-1]})
        write_report(changed, out, ["json"])
        began = time.process_time()
        refresh_register(out, cards[0].tier)
        again = time.process_time() - began
        shutil.rmtree(out / cards[0].tier)
    return {"papers": PAPERS, "anew_s": anew, "again_s": again, "page_bytes": size}


def main() -> int:
    """Prints the figures; exit code 1 if one is over its limit."""
    figures = bench()
    print(f"register of {PAPERS} papers    {figures['anew_s']:.2f} s of CPU time (limit 20 s)")
    print(f"again after one changed   {figures['again_s']:.2f} s of CPU time (limit 2 s)")
    print(f"its page                  {figures['page_bytes'] / 1e6:.1f} MB")
    (HERE / "register.json").write_text(json.dumps(figures, indent=2) + "\n")
    return int(any(figures[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
