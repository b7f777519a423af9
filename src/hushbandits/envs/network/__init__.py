"""Cooperative bandits over a graph whose edges delay messages."""

from hushbandits.envs.network.env import CoopNetwork

__all__ = ["CoopNetwork"]
