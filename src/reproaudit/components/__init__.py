"""Parts that a second paper needs, each tested where it lives."""
