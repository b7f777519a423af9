"""Experiments, one module per paper or topic, each of which lists its experiments in `EXPERIMENTS`."""
