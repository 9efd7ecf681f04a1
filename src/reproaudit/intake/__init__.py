"""Runs that were made elsewhere become records.

`labels` says what an audit asks of logs, and what the names of runs say; `roles` settles what a
logged run is (an experiment or a control) and holds its settings against the audit's, `pooling`
says where two runs were taken for one, `measuring` makes declared measurements of curves.
`manifest` says who made a folder of measurements, and names the files of each run; `reading`
holds its numbers against the audit's declarations, and makes records that carry their origin and
are judged as ours are; `memory` does the same for runs in memory, and no file is on the way.
`importing` makes such runs of others' logs, and says what became of every log; `writing` writes a
folder of them, once they fit.
"""
