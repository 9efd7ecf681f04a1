"""Where cells are computed: one module for each engine."""
