"""Dubey & Pentland 2020, "Private and Byzantine-Proof Cooperative Decision-Making" (AAMAS)."""

from hushbandits.agents.dubey2020.agents import ByzantineUCB, MultiUCB, PrivateUCB

__all__ = ["ByzantineUCB", "MultiUCB", "PrivateUCB"]
