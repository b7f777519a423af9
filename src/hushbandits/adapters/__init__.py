"""Adapters of the array core to other libraries; only they use dicts of agents."""
