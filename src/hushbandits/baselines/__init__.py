"""Baselines: algorithms that the papers compare with, algorithms of this package, and trained policies."""
