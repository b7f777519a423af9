"""The coordinator of private exploration: votes in, the global set out."""

from __future__ import annotations

import numpy as np

from hushbandits.core.ballot import PLAYERS, cast, charge, count, draw_agent, finished, settle
from hushbandits.core.jit import jit
from hushbandits.core.messages import Inbox
from hushbandits.core.types import Array

__all__ = ["GlobalSet", "cast_rows", "charge_rows", "close_rows", "count_rows", "draw_agents"]


@jit
def draw_agents(cumulative, u, live, who):  # type: ignore[no-untyped-def]
    """Who acts next, in every live run."""
    for r in range(u.size):
        if live[r]:
            who[r] = draw_agent(cumulative[r], u[r])


@jit
def cast_rows(vote, reset, live, who, sent, cost, messages):  # type: ignore[no-untyped-def]
    """Mark what was sent, and charge for it."""
    for r in range(who.size):
        if live[r]:
            messages[r] += cost * (cast(vote[r], sent[r, who[r]]) + int(reset[r]))


@jit
def count_rows(vote, heard, who, counted, votes, needed, active):  # type: ignore[no-untyped-def]
    """Count the votes that arrived."""
    for r in range(who.size):
        if heard[r]:
            count(vote[r], counted[r, who[r]], votes[r], needed, active[r])


@jit
def charge_rows(pulls, gaps, regret):  # type: ignore[no-untyped-def]
    """Add the regret of what was pulled."""
    for r in range(pulls.shape[0]):
        regret[r] += charge(pulls[r], gaps[r])


@jit
def close_rows(who, read, over, stop, live, active, sent, holds, open_seats):  # type: ignore[no-untyped-def]
    """Note what the active agents hold, and end the runs that are over or decided."""
    for r in range(who.size):
        if live[r]:
            if stop == PLAYERS:
                n = who[r]
                settle(sent[r, n], read[r], read[r].sum() == 1, n, holds[r], open_seats[r])
            live[r] = not (over[r] or finished(stop, active[r].sum(), open_seats[r]))


class GlobalSet(Inbox):
    """What the coordinator tells everyone: the global set 𝒦 (and whether all begin afresh), in one slot."""

    def __init__(self, **told: Array):
        self._told = told

    @property
    def fields(self) -> tuple[str, ...]:  # type: ignore[override]
        """``active``, and ``reset`` where agents may reset the vote."""
        return tuple(self._told)

    @property
    def arrived(self) -> Array:
        """``(R, 1, 1)``: always there."""
        return np.ones((len(self._told["active"]), 1, 1), bool)

    def __getitem__(self, field: str) -> Array:
        if field not in self._told:
            raise KeyError(f"no field {field!r} in this inbox; it offers: {', '.join(self._told)}")
        return self._told[field][:, None, None]
