"""Standard formats that other tools read; each module `x` has a function `x_export`."""
