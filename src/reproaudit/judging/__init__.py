"""Verdicts on claims, from records made here or measurements made elsewhere.

``verdict`` judges claims by their checks and controls; ``submissions`` reads measurements that were
made elsewhere, so that they are judged by the same rules; ``model`` is the base of the models that
are written to JSON. To change a verdict or the rule for it, open ``verdict``.
"""
