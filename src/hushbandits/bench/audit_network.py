"""Audit of private means: can two neighbouring reward sequences be told apart from one agent's messages?"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from hushbandits.bench.audit import Verdict
from hushbandits.core.types import Array
from hushbandits.privacy.audit import epsilon_lower_bound
from hushbandits.registry import assemble, make_team

__all__ = ["NETWORK", "private_means", "promises", "published"]

NETWORK = "PrivateNetwork-v0"
_ROUNDS = 3


def published(own: str, first: float, epsilon: float = 1.0, v: float = 1.1, runs: int = 1, seed: int = 0) -> Array:
    """Messages of an agent with two arms, whose rewards are prescribed: `first`, then always ½.

    Returns
    -------
    (runs, 3, 2, 2) array
        After each of three rounds, per arm: the released mean, and the published count.
    """
    team = make_team("Private-UCB", epsilon=epsilon, v=v, own=own)
    env = assemble(NETWORK, team, runs=runs, env={"n_agents": 1, "means": [0.5, 0.5], "horizon": _ROUNDS})
    obs = env.reset(seed)
    team.reset(env, env.seeds)
    found = np.empty((runs, _ROUNDS, 2, 2))
    for t in range(_ROUNDS):
        arm = np.array(team.act(obs))
        env.pull(arm)
        reward = np.full((runs, 1), 0.5 if t else first)
        team.speak(reward)
        obs = env.talk({"arm": arm, "reward": reward})
        assert obs.inbox is not None
        team.hear(obs.inbox)
        ring = env._ring  # type: ignore[attr-defined]
        for i, name in enumerate(("mean", "count")):
            found[:, t, :, i] = ring.values[name][ring.t % ring.depth, :, 0]
    return found


def private_means(
    own: str, epsilon: float = 1.0, v: float = 1.1, runs: int = 1500, level: float = 1e-6, seed: int = 0
) -> Iterator[Verdict]:
    """One changed reward, the first of the warm-up, and three events fixed before any run.

    With ``own="exact"`` the third arm played is the better of the first two rewards, so the published count changes
    with certainty: what is promised about the released means does not hold for the counts.  With ``own="noised"`` it
    holds for both.

    Parameters
    ----------
    own, epsilon, v
        As in `PrivateMeans`.
    runs : int
        Runs a side.
    level : float
        Probability of rejecting an honest mechanism, per event and in both directions together.
    seed : int

    Yields
    ------
    Verdict
        Per event: the ε composed over the rounds, and the ε that the runs refute.
    """
    high = published(own, 1.0, epsilon, v, runs, 2 * seed)
    low = published(own, 0.0, epsilon, v, runs, 2 * seed + 1)
    team = make_team("Private-UCB", epsilon=epsilon, v=v, own=own)
    env = assemble(
        "PrivateNetwork-v0", team, runs=1, env={"n_agents": 1, "n_arms": 2, "means": [0.5, 0.5], "horizon": 3}
    )
    claimed = next(g.epsilon for g in env.privacy() if math.isfinite(g.epsilon) and g.delta == 0)
    events = {
        "count of arm 0 is 2 after 3 rounds": lambda x: x[:, -1, 0, 1] == 2,
        "first mean above 1": lambda x: x[:, 0, 0, 0] > 1,
        "first mean below 0": lambda x: x[:, 0, 0, 0] < 0,
    }
    for name, event in events.items():
        a, b = int(event(high).sum()), int(event(low).sum())
        measured = max(epsilon_lower_bound(x, y, runs, 0.0, level / 2) for x, y in ((a, b), (b, a)))
        yield Verdict(f"{NETWORK} own={own}", name, claimed, measured)


def promises(runs: int, level: float, seed: int) -> Iterator[Verdict]:
    """What the mechanism promises: the released means either way, the counts where own means are noised."""
    yield from list(private_means("exact", runs=runs, level=level, seed=seed))[1:]
    yield from private_means("noised", runs=runs, level=level, seed=seed)
