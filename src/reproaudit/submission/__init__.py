"""A folder of measurements that were made elsewhere becomes records.

`manifest` says who made them, and names the files of each run. `reading` holds the numbers against
the audit's declarations, and makes records of them that carry their origin and are judged as ours
are. `writing` writes such a folder, as a whole or not at all, from runs in memory or as a template
to fill in. `importing` writes one from others' logs: it keeps out what is not whole, and says what
became of every log.
"""
