"""Féraud, Alami & Laroche 2019, "Decentralized Exploration in Multi-Armed Bandits" (ICML)."""

from hushbandits.agents.feraud2019.agents import DSER4, Decentralized

__all__ = ["DSER4", "Decentralized"]
