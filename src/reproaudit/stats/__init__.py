"""What a handful of seeds can say: intervals, decisions, power, and the onset of a change.

A rule is judged on a *fitting scale* on which its measure is near normal (`Scale`): the seeds' mean
there has a Student-t interval, and a decision is where that interval lies.

=============  ===========================  ====================================================
rule           met                          missed
=============  ===========================  ====================================================
bound          the 1 − α interval lies on   the 1 − α/parts interval lies wholly on the other
               the bound's right side
equivalence    the 1 − 2α interval lies     the 1 − α/parts interval lies wholly outside
               within the margin
=============  ===========================  ====================================================

with α = 1 − confidence, and *undecided* between the two. A claim of several parts is met only if
all are, which needs no correction (an intersection-union test: Berger, Technometrics 24, 1982); it
is missed if one is, which does. The equivalence rule is the two one-sided tests of Schuirmann
(J. Pharmacokinet. Biopharm. 15, 1987).

**The interval that a finding reports** is the one that decides on the estimate's side: that of
*met* where the estimate satisfies the rule, that of *missed* where it does not. So the decision can
be read off it: within is met, outside is missed, across the limit is undecided. Its `method` and
`confidence` say which it is.

Nothing here draws random numbers, and no interval is a bootstrap: with 5 to 20 seeds a percentile
bootstrap is too narrow.

One module for each: `scales` (where a measure is near normal), `intervals` (of a mean, of a share),
`limits` (a rule as a range, what meets and what misses it), `power` (what an undecided rule could
have shown), `decisions` (from seeds to a `RuleResult`) and `onsets`. What others use is named here.
"""

from reproaudit.stats.acceptance import Side
from reproaudit.stats.decisions import (
    Decision,
    RuleResult,
    decide_bound,
    decide_equivalence,
    decide_every_seed,
    decide_every_seed_within,
    decide_exact_bound,
    decide_exact_equivalence,
    expected_errors,
)
from reproaudit.stats.intervals import Interval, mean_interval, wilson
from reproaudit.stats.onsets import Onset, onset
from reproaudit.stats.power import MOST_SEEDS, POWER
from reproaudit.stats.scales import FLOOR, FittingAxis, FloatArray, Scale, equivalence_range

__all__ = [
    "FLOOR",
    "MOST_SEEDS",
    "POWER",
    "Decision",
    "FittingAxis",
    "FloatArray",
    "Interval",
    "Onset",
    "RuleResult",
    "Scale",
    "Side",
    "decide_bound",
    "decide_equivalence",
    "decide_every_seed",
    "decide_every_seed_within",
    "decide_exact_bound",
    "decide_exact_equivalence",
    "equivalence_range",
    "expected_errors",
    "mean_interval",
    "onset",
    "wilson",
]
