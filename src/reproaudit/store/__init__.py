"""Keeps the records of finished cells, and says which of them count.

`records` keeps them; `code` says what identifies a cell, `imports` and `syntax` which of its code
computes; `adoptions` says which states of code gave the same bits, `coordinates` along which
coordinates a record was measured; `choosing` says which records are judged together; `shipped`
packs and unpacks them; `journal` is a log beside an audit.
"""
