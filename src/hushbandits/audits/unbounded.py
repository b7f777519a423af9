"""Rewards without a bound: noise hides what has a sensitivity, so nothing may be promised on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

from hushbandits.audits.verdict import Verdict
from hushbandits.core.env import Env
from hushbandits.core.luck.rewards import LAWS, Law
from hushbandits.registry import make_core, make_team, make_wrapper

__all__ = ["laws"]

#: Envs whose wrappers promise, and wrappers that promise on a graph.
_ENVS = ("CentralDP-v0", "DistDP-v0", "DistRDP-v0", "DistCDP-v0", "LocalDP-v0", "ShuffleDP-v0")
_WRAPPERS = tuple(product(("PrivateMeans", "LocalLaplace"), ("exact", "noised")))


def laws() -> Iterator[Verdict]:
    """No promise of ε stands on rewards without a bound: every law, every wrapper and team."""
    for name, law in sorted(LAWS.items()):
        if not law.unit_interval:
            makes = (
                *(partial(_on_graph, law(), wrapper, own) for wrapper, own in _WRAPPERS),
                *(partial(make_core, id, rewards=law()) for id in _ENVS),
                partial(make_core, "DPMASE-v0", rewards=law()),
            )
            standing = float(sum(map(_standing, makes)))
            yield Verdict("reward laws", f"promises that stand on {name} rewards", 0, standing, "promises")


def _on_graph(law: Law, wrapper: str, own: str) -> Env:
    return make_core("CoopNetwork-v0", n_agents=4, wrappers=[make_wrapper(wrapper, own=own)], rewards=law)


def _standing(make: Callable[[], Env]) -> int:
    try:
        env = make()
        promises = env.privacy() + (make_team("DP-MASE").privacy(env) if env.setting == "exploration" else ())
    except ValueError:  # refused outright
        return 0
    return sum(math.isfinite(g.epsilon) for g in promises)
