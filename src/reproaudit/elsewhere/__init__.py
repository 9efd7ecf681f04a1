"""Logs of somebody else's training runs, turned into a folder that `reproaudit judge` reads.

`finding` looks for logs, and one module for each kind of source reads them to curves:
`tensorboard`, `mlflow`, `wandb`, `trainers` (Lightning, Hugging Face) and `tables`. From there on
the source makes no difference: `configurations` finds what a run was started with, `roles` settles
its seed and what it is to the audit (an experiment or one of its controls), `comparing` sets its
configuration against the audit's settings, `measuring` makes declared measurements from curves,
`completeness` says which curves are not whole, and `writing` writes the folder, as a whole or not.

To read another source, add a module that returns `LoggedRun`s, and name it in `finding`. Nothing
here executes what it reads: no pickle, no YAML tags, no expression beyond a closed grammar.
"""
