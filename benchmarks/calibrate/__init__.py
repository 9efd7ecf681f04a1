"""How often each kind of check is met where its claim is untrue, and where it is true.

`levels` and `courses` hold the shapes: plain, seeded generators of the measurements of whole
audits. They were fixed before the kinds were redesigned to reject them; a shape is added, never
dropped.
"""
