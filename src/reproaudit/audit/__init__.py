"""The audit of a paper: its models, how a YAML file becomes one, and what it must satisfy.

``model`` is the specification, ``loading`` reads YAML with every fault at its place, ``rules``
holds what goes beyond form, ``plan`` says which cells a tier needs, ``catalog`` finds the audits
and ``paper_module`` the code beside them. ``card`` and ``draft`` begin a new audit. To add a field,
change ``model`` and run ``make schema``; to add a rule, add a function to its module in ``rules``.
"""
