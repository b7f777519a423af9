"""Rewards without a bound: noise hides what has a sensitivity, so nothing may be promised on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

from hushbandits.audits.verdict import Verdict
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.luck.rewards import LAWS
from hushbandits.registry import make_core, make_team, make_wrapper

__all__ = ["laws"]

Promises = tuple[Guarantee, ...]


def laws() -> Iterator[Verdict]:
    """No promise of ε stands on rewards without a bound: every law, every wrapper and team."""
    for name, law in sorted(LAWS.items()):
        if law.unit_interval:
            continue
        standing = 0.0
        for make in _unbounded(name):
            try:
                promises = make()
            except ValueError:  # refused outright
                continue
            standing += sum(math.isfinite(g.epsilon) for g in promises)
        yield Verdict("reward laws", f"promises that stand on {name} rewards", 0, standing, "promises")


def _unbounded(name: str) -> Iterator[Callable[[], Promises]]:
    law = LAWS[name]()

    def with_wrapper(wrapper: str, own: str) -> Promises:
        return make_core("CoopNetwork-v0", n_agents=4, wrappers=[make_wrapper(wrapper, own=own)], rewards=law).privacy()

    def of(id: str) -> Promises:
        return make_core(id, rewards=law).privacy()

    for wrapper in ("PrivateMeans", "LocalLaplace"):
        for own in ("exact", "noised"):
            yield partial(with_wrapper, wrapper, own)
    for id in ("CentralDP-v0", "DistDP-v0", "DistRDP-v0", "DistCDP-v0", "LocalDP-v0", "ShuffleDP-v0"):
        yield partial(of, id)
    yield lambda: make_team("DP-MASE").privacy(make_core("DPMASE-v0", rewards=law))
