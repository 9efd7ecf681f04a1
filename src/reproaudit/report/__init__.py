"""What a reader sees: the scorecard, its words, and three renderers over them.

`words`, `claims` and `screen` make
sentences of it, at the end; `terminal` and `pages` lay them out. No code reads a sentence.
"""
