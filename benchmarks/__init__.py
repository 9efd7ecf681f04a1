"""Literal form against ours: `python -m benchmarks [SLUG …]`, one module per paper."""
