"""Others' logs become measurements.

`finding` looks for logs; a reader of each kind (`tensorboard`, `mlflow`, `tables`)
takes a `LogSource` and returns `LoggedRun`s, which `joining` puts together. `rows` and
`documents` read the text of tables (CSV and JSON), `texts` what is drawn or printed for people;
`spread` makes rows of columns that tell runs apart, and `columns` gives each column its role, as
the mapping says or by what `names` knows. `configurations` finds what a run was started with, and
its seed; `mapping` is the file that says
which tag is which measurement. What becomes of the runs, `intake` says.

Everything here is untrusted: `opening` checks sizes before content, and nothing is executed: no
pickle, no YAML tag, no formula. What cannot be used raises a `LogError`: one line that says where,
what was found and what was expected.
"""
