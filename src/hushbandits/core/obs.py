"""What a team sees."""

from __future__ import annotations

from dataclasses import dataclass

from hushbandits.core.messages import Inbox
from hushbandits.core.utils import Array

__all__ = ["Obs"]


@dataclass(slots=True)
class Obs:
    """Observation of the acting agents of all runs.

    Parameters
    ----------
    t : (R,) int
        Rounds completed so far (users, in feedback).
    live : (R,) bool
        Which runs go on; the others are frozen rows, and what is done for them is ignored.
    who : (R, A) int
        The acting agents.
    reward : (R, A, …) float or None
        After `pull`, what agents are told of their own rewards (NaN where nothing is seen); ``None`` otherwise, and
        where rewards are withheld.
    inbox : Inbox or None
        What arrived, after `talk`; at the start of an episode ``None``.
    """

    t: Array
    live: Array
    who: Array
    reward: Array | None = None
    inbox: Inbox | None = None
