"""Rounds that everybody plays: what the network and one's own envs begin with."""
