"""The audit of a paper: its models, how a YAML file becomes one, and what it must satisfy.

``model`` is the specification, and what reviewers say of it. ``loading`` reads YAML with
every fault at its place, ``rules`` checks what spans several nodes, ``faults`` has every rule with
its remedy. ``short`` reads and writes the short form. ``plan`` lists the cells of a tier,
``catalog`` finds the audits and the code beside them. ``card`` and ``draft`` begin a new audit.

To add a field, change its model and run ``make schema``. To add a rule, add a function to
``rules`` and a row to the table in ``faults``.
"""

RUN_FILE = ".run.yaml"
"""The end of the name of a file that says how an author's repository is run."""

REVIEW_FILE = ".review.yaml"
"""The end of the name of the file that holds what reviewers say of an audit."""

SHORT_FILE = ".short.yaml"
"""The end of the name of an audit that was upgraded and has not yet taken the other's place."""
