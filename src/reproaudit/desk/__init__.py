"""The reviewer's desk: decides, disputes and signs off, by a page on this machine or by a script.

What reviewers say stands in `SLUG.review.yaml`. `edits` holds the acts, `saving` writes the file
whole, `page` shows the audit with a form for each open question, and `guard` lets only the
reviewer's own browser in.
"""
