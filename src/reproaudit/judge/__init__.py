"""The engine: from an audit, records and a history to the verdict (`verdict`), and nothing else.

`bundles` puts the records of all arms with one seed together, `alike` looks whether they can be
compared, and `runs` lets each run say yes or no; `decisions` counts; `arms` holds what an arm says
until it is published; `readings` holds the count under one set of settings against its controls;
`outcomes` concludes on a claim; `certainty` says how sure that makes us and why not surer. Nothing
here knows a store, git, a clock, or a sentence.
docs/answers.md has the same rules in words.
"""

from __future__ import annotations

from reproaudit.judge.bundles import Records, SeedRecords, index_records
from reproaudit.judge.certainty import History
from reproaudit.judge.outcomes import judge

ENGINE = 6
"""The number of these rules: with other ones, the same records may answer otherwise."""

__all__ = ["ENGINE", "History", "Records", "SeedRecords", "index_records", "judge"]
