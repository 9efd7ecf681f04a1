"""The reviewer's desk: edits an audit's YAML as a careful person would, by a page or by a script.

From the bottom up: `yaml_text` writes values as YAML; `splicing` puts them into a file's text and
leaves everything else byte for byte; `acts` says which edits a reviewer's decision takes; `saving`
validates and saves; `views` and `page` show the open questions in a browser on this machine.
"""
