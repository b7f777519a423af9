"""Chowdhury & Zhou 2023, "Distributed Differential Privacy in Multi-Armed Bandits" (ICLR).

`successive`: successive elimination on blocks of users, once; `agents`: its instances by privacy protocol, and `DP-SE`
(Sajed & Sheffet 2019), the paper's comparator with a trusted server; `theory`: the regret bound of lemma 2.
"""

from hushbandits.agents.chowdhury2023.agents import CDPSE, DPSE, LDPSE, DistCDPSE, DistDPSE, DistRDPSE, ShuffleDPSE
from hushbandits.agents.chowdhury2023.successive import BatchedSE, SuccessiveElimination

__all__ = [
    "CDPSE",
    "DPSE",
    "LDPSE",
    "BatchedSE",
    "DistCDPSE",
    "DistDPSE",
    "DistRDPSE",
    "ShuffleDPSE",
    "SuccessiveElimination",
]
