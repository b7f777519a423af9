"""Rio, Barlier, Colin & Soare 2023, "Multi-Agent Best Arm Identification with Private Communications" (ICML)."""

from hushbandits.agents.rio2023.agents import DPMASE, CorruptedElimination

__all__ = ["DPMASE", "CorruptedElimination"]
