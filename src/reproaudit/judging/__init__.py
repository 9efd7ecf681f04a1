"""From records to verdicts.

``verdict`` judges claims by their checks and controls; ``submissions`` reads measurements that were
made elsewhere, so that they are judged by the same rules; ``model`` is the base of all that is
written to JSON. To change what may be said of a claim, open ``verdict``.
"""
