"""Standard formats that other tools read."""
