"""From an audit and records to a scorecard, and the history of results."""
