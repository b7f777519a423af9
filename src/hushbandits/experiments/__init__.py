"""Declarations, a module per paper: `EXPERIMENTS` of each are known by name."""
