"""Experiments of the papers, one module per paper; each module lists its experiments in `EXPERIMENTS`."""
