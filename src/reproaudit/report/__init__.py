"""What a reader sees: a scorecard's data, its words, and three renderers over them.

`build` makes a `model.Scorecard` of the engine's answers; `words` and `paragraph` make sentences of
typed data; `terminal`, `markdown` and `html` lay them out. No code reads a sentence.
"""
