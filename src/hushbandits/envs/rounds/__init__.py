"""Envs in which every agent pulls one arm per round: the base of networks and user-defined envs."""
