"""The reviewer's desk: decides, disputes and signs off, by a page on this machine or by a script.

What reviewers say stands in `SLUG.review.yaml`. The acts and the file are the service's
(`service/edits.py`, `service/review_files.py`); `page` shows the audit with a form for each open
question, and `guard` lets only the reviewer's own browser in.
"""
