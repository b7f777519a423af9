"""Experiments, one file per paper."""
