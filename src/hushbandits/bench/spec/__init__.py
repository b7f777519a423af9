"""Experiments, claims and figures, declared as data."""
