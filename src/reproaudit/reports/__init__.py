"""The scorecard for people: terminal, HTML and Markdown."""
