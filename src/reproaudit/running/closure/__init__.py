"""The code that a paper's module computes with, hashed so that only what computes counts.

`reach` follows what the module refers to and makes the hash; `canonical` writes one module as text
without its comments and layout, with the help of `pruning` (what does not compute), `scopes` (what
names stand for), `definitions` (what may be left out when nobody uses it) and `syntax`.

A change in here changes the hash of every paper, so that every record is made anew.
"""
