"""The engine: from an audit, records and a history to the verdict (`verdict`), and nothing else.

`runs` puts the records of all arms with one seed into a bundle and lets each run say yes or no;
`decisions` counts; `outcomes` concludes on a claim; `certainty` says how sure that makes us and why
not surer. Nothing here knows a store, git, a clock, or a sentence.
"""

from __future__ import annotations

from reproaudit.judge.certainty import History
from reproaudit.judge.outcomes import judge
from reproaudit.judge.runs import Records, SeedRecords, index_records

__all__ = ["History", "Records", "SeedRecords", "index_records", "judge"]
