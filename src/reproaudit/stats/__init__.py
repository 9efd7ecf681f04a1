"""The few statistics that decide a claim, with no knowledge of papers.

`binomial` counts runs that say yes; `means` holds the mean of runs against a margin; `onsets` finds
the step at which a change over training sets in; `growth` fits laws and their rivals. Quantiles are
computed here: to import SciPy's takes longer than to judge a paper.
"""
