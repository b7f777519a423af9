"""A privacy claim, spelled out."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Guarantee"]


@dataclass(frozen=True)
class Guarantee:
    """What a mechanism promises, to whom, under which assumptions.

    Parameters
    ----------
    mechanism : str
        The mechanism and its scale, in words.
    epsilon, delta : float
        The differential-privacy parameters of one use; ``inf`` where nothing is promised.
    adjacency : str
        Which two inputs count as neighbours.
    view : str
        Who sees what is protected: the observer of the claim.
    assumptions : tuple of str
        What must hold for the claim; seeded noise is a simulation and always listed here.
    source : str
        The paper and statement that it comes from.
    """

    mechanism: str
    epsilon: float
    delta: float
    adjacency: str
    view: str
    assumptions: tuple[str, ...]
    source: str
