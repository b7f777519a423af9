"""Rewards without a bound: noise hides what has a sensitivity, so nothing may be promised on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from hushbandits.audits.verdict import Verdict
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.rewards import LAWS
from hushbandits.registry import make_core, make_team, make_wrapper

__all__ = ["laws"]


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


def _unbounded(name: str) -> Iterator[Callable[[], tuple[Guarantee, ...]]]:
    means: dict[str, Any] = {"rewards": LAWS[name]()}
    for wrapper in ("PrivateMeans", "LocalLaplace"):
        for own in ("exact", "noised"):
            made = partial(make_wrapper, wrapper, own=own)
            yield lambda made=made: make_core("CoopNetwork-v0", n_agents=4, wrappers=[made()], **means).privacy()  # type: ignore[misc]
    for id in ("CentralDP-v0", "DistDP-v0", "DistRDP-v0", "DistCDP-v0", "LocalDP-v0", "ShuffleDP-v0"):
        yield lambda id=id: make_core(id, **means).privacy()  # type: ignore[misc]
    yield lambda: make_team("DP-MASE").privacy(make_core("DPMASE-v0", **means))
