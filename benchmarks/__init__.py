"""Measurements side by side with peers, in one run on one machine: `python -m benchmarks [name ...]`."""
