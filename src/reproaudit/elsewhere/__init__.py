"""Others' measurements: their logs, and folders of measurements that `reproaudit judge` reads.

Logs: `finding` looks for them; a reader of each kind (`tensorboard`, `mlflow`, `tables`: with
Lightning, Hugging Face and W&B's exports) takes a `LogSource` and returns `LoggedRun`s. From there
on the source makes no difference: `roles` finds what a run was started with, settles its seed and
its role (an experiment or a control) and holds its settings against the audit's, `measuring` makes
declared measurements from curves, `writing` writes a folder, as a whole or not at all, and
`importing` keeps out what is not whole and says what became of every log.

Folders: `submission` reads their manifest, holds the numbers against the declarations, and makes
records of them that carry their origin and are judged as ours are. Its tables are read and measured
as logged ones are.

Everything here is untrusted: sizes are checked before content, and nothing is executed: no pickle,
no YAML tag, no formula. What cannot be used raises a `LogError`: one line that says where, what was
found and what was expected.
"""
