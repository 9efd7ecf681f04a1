"""Statistics for a handful of seeds: intervals, decisions, differences, power, and onsets.

A rule is judged on a *fitting scale* on which its measure is near normal (`Scale`). There the mean
over seeds has a Student-t interval, and the decision follows from where that interval lies:

=============  ===========================  ====================================================
rule           met                          missed
=============  ===========================  ====================================================
bound          the 1 − α interval lies on   the 1 − α/k interval lies wholly on the other
               the bound's right side       side
equivalence    the 1 − 2α interval lies     the 1 − α/k interval lies wholly outside
               within the margin
=============  ===========================  ====================================================

with α = 1 − confidence, and k from the number of parts (`reproaudit.checks.deciding`); anything
else is *undecided*. A claim of several parts is met only if all are, which needs no correction (an
intersection-union test: Berger, Technometrics 24, 1982); it is missed if one is, which does. The
equivalence rule is the two one-sided tests of Schuirmann (J. Pharmacokinet. Biopharm. 15, 1987).

**The reported interval** is the one that decides on the estimate's side: that of *met* where the
estimate satisfies the rule, that of *missed* where it does not. Its `method` and `confidence` say
which of the two it is. It is necessary and not sufficient: met lies within and missed outside, but
the runs are counted as well (`acceptance.most_astray`), and too many on the other side of the limit
leave either undecided.

Nothing here draws random numbers, and no interval is a bootstrap: with 5 to 20 seeds a percentile
bootstrap is too narrow.

The modules: `scales` (where a measure is near normal), `intervals` (mean, standard error and
interval of seeds; interval of a share), `acceptance` (a rule as a range of accepted means),
`decisions` (from seeds to a `RuleResult`), `power` (what an undecided rule could have shown),
`difference` (of two sets of seeds) and `onsets` (when a change set in). Other packages import the
names listed here, and `seed_difference` from `difference`.
"""

from reproaudit.stats.acceptance import Side
from reproaudit.stats.decisions import (
    Decision,
    RuleResult,
    decide_bound,
    decide_equivalence,
    decide_every_seed,
    decide_every_seed_within,
    decide_rate,
    expected_errors,
)
from reproaudit.stats.intervals import (
    Interval,
    clopper_pearson,
    mean_interval,
    moments,
    wilson,
)
from reproaudit.stats.onsets import final_value, onset
from reproaudit.stats.scales import FLOOR, FittingAxis, FloatArray, Scale, equivalence_range

__all__ = [
    "FLOOR",
    "Decision",
    "FittingAxis",
    "FloatArray",
    "Interval",
    "RuleResult",
    "Scale",
    "Side",
    "clopper_pearson",
    "decide_bound",
    "decide_equivalence",
    "decide_every_seed",
    "decide_every_seed_within",
    "decide_rate",
    "equivalence_range",
    "expected_errors",
    "final_value",
    "mean_interval",
    "moments",
    "onset",
    "wilson",
]
