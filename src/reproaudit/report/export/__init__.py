"""A scorecard in formats that other programs read; docs/export.md describes each."""
