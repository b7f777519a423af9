"""Experiments, a module per paper: those in its `EXPERIMENTS` have names."""
