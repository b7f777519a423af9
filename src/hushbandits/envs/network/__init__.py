"""Cooperation over a delayed graph."""

from hushbandits.envs.network.env import CoopNetwork

__all__ = ["CoopNetwork"]
