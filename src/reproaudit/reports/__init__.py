"""Documents for people, and files that other tools read.

`scorecard`, `claim`, `listing`, `multiverse` and `difference` build a document out of the blocks of
`outline`; `terminal`, `markdown` and `html` render any document. To change what is told, change a
builder; to change how it looks, a renderer. `formats` is the registry of output formats, and
`files` writes them; `register` is the page of all papers, `screen` the last lines of a run. The
meaning and colour of a verdict stand in `reproaudit.scorecard.verdicts`.
"""
