"""What a reader sees: the head and the rows of a scorecard, in three renderers.

`parts` puts them in order; `terminal` and `pages` lay them out. No code reads a sentence.
"""
