"""Others' measurements: their logs, and folders of measurements that `reproaudit judge` reads.

Logs: `finding` looks for them, and one module for each kind of source reads them to curves:
`tensorboard`, `mlflow`, `wandb`, `tables` (with Lightning and Hugging Face). From there on the
source makes no difference: `configurations` finds what a run was started with, `roles` settles its
seed and its role (an experiment or a control) and holds its settings against the audit's,
`measuring` makes declared measurements from curves and says which curves are not whole, and
`writing` writes the folder, as a whole or not at all.

Folders: `manifest` and `files` read them, `fitting` holds the numbers against the declarations, and
`submission` makes records of them that carry their origin and are judged as ours are.

To read another source, add a module that returns `LoggedRun`s, and name it in `finding`. Everything
here is untrusted: sizes are checked before content, and nothing is executed: no pickle, no YAML
tag, no expression beyond arithmetic.
"""
