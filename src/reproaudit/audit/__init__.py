"""The audit of a paper: its models, how a YAML file becomes one, and what it must satisfy.

``model`` is the specification, with ``variables``, ``settings`` and ``findings``. ``loading`` reads
YAML with every fault at its place, ``rules`` checks what spans several nodes, ``plan`` lists the
cells of a tier, ``catalog`` finds the audits and ``paper_module`` the code beside them. ``card``
and ``draft`` begin a new audit.

To add a field, change its model and run ``make schema``. To add a rule, add a function to its
module in ``rules``.
"""
