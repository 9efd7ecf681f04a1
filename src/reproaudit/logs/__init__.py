"""Others' logs become measurements.

`finding` looks for logs; a reader of each kind (`tensorboard`, `mlflow`, `tables`) takes a
`LogSource` and returns `LoggedRun`s, which `joining` puts together. Of tables, `rows` and
`documents` read the text (CSV and JSON), and `columns` gives each column its role. From there on
the source makes no difference: `configurations` finds what a run was started with, and its seed;
`mapping` is the file that says which tag is which measurement; `roles` settles what a run is (an
experiment or a control) and holds its settings against the audit's; `measuring` makes declared
measurements from curves.

Everything here is untrusted: `opening` checks sizes before content, and nothing is executed: no
pickle, no YAML tag, no formula. What cannot be used raises a `LogError`: one line that says where,
what was found and what was expected.
"""
