"""Experiments, one file per paper: declarations only."""
