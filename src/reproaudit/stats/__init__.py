"""The few statistics that decide a claim, with no knowledge of papers.

`binomial` counts runs that say yes; `means` holds the mean of runs against a margin; `onsets` finds
the step at which a change over training sets in; `growth` fits laws and their rivals. Quantiles are
computed here: to import SciPy's takes longer than to judge a paper.
"""

from __future__ import annotations

from reproaudit.stats.binomial import Decision, decide_count, fewer_yes, share_interval
from reproaudit.stats.growth import LAWS, misfits
from reproaudit.stats.means import decide_mean, mean_interval
from reproaudit.stats.onsets import crossing, half_change

__all__ = [
    "LAWS",
    "Decision",
    "crossing",
    "decide_count",
    "decide_mean",
    "fewer_yes",
    "half_change",
    "mean_interval",
    "misfits",
    "share_interval",
]
