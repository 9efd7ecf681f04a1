"""The short form of an audit, schema 3: its models, its expansion to schema 2, and the upgrade.

Rules, seeds and pages know the audit that the short form expands to, and nothing of the form. The
names of both forms stand side by side in docs/short-form.md.
"""
