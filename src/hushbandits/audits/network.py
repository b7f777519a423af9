"""Messages on a graph: can two neighbouring reward sequences be told apart from what an agent shows?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import stats

from hushbandits.audits.black import judged, power
from hushbandits.audits.drawn import against_law
from hushbandits.audits.laws import Continuous, OnGrid
from hushbandits.audits.told import Told
from hushbandits.audits.verdict import Verdict
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.obs import Obs
from hushbandits.core.team import Team
from hushbandits.core.types import Array
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.network.env import CoopNetwork
from hushbandits.privacy.audit import epsilon_lower_bound
from hushbandits.privacy.releases import release_counts
from hushbandits.privacy.samplers import DiscreteLaplace
from hushbandits.registry import assemble, make_core, make_team
from hushbandits.wrappers.local_bernoulli import LocalBernoulli
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.private_means import PrivateMeans

__all__ = ["coins", "drawn_bits", "drawn_releases", "drawn_reports", "messages", "posts", "private_means", "published"]

NETWORK = "PrivateNetwork-v0"
_ROUNDS = 3
#: What of a message a promise covers, by its view; all of it otherwise.
_COVERED = {
    "any receiver: the released means only": ("mean",),
    "everyone else: the noised rewards only": ("reward",),
}


def posts(
    env_id: str, team: Team, wrappers: Sequence[Wrapper], rewards: Sequence[Array], runs: int, seed: int, **env: object
) -> dict[str, Array]:
    """Play prescribed rewards, ``(M,)`` a round; what is posted: per field ``(rounds, runs, M, …)``."""
    n_agents = len(rewards[0])
    settings = {"n_agents": n_agents, "means": [0.5, 0.5], "horizon": len(rewards), "rewards": Told(), **env}
    core = assemble(env_id, team, runs=runs, env=settings, wrappers=wrappers)
    law = core.law
    assert isinstance(core, CoopNetwork)
    assert isinstance(law, Told)
    obs = core.reset(seed)
    team.reset(core, core.seeds)
    found: dict[str, list[Array]] = {}
    for now in rewards:
        law.now = now
        obs = core.pull(np.array(team.act(obs)))
        assert obs.reward is not None
        obs = core.talk(team.speak(obs.reward))
        assert obs.inbox is not None
        team.hear(obs.inbox)
        ring = core._ring
        for name, values in ring.values.items():
            found.setdefault(name, []).append(values[ring.t % ring.depth].astype(float))
    return {name: np.array(rows) for name, rows in found.items()}


def messages(
    env_id: str,
    team: Team,
    wrappers: Sequence[Wrapper],
    promise: Guarantee,
    runs: int,
    level: float,
    seed: int,
    subject: str,
    n_agents: int = 2,
) -> Iterator[Verdict]:
    """Change every agent's first reward in turn; all that is posted in three rounds and that the promise covers."""
    covered = _COVERED.get(promise.view)
    for who in range(n_agents):
        sides = []
        for reward in (0.0, 1.0):
            told = [np.full(n_agents, 0.5) for _ in range(_ROUNDS)]
            told[0][who] = reward
            shown = posts(env_id, team, wrappers, told, runs, seed + 2 * who + int(reward))
            features = {}
            for name, value in shown.items():
                if covered is not None and name not in covered:
                    continue
                flat = value.reshape(_ROUNDS, runs, -1)
                for t in range(_ROUNDS):
                    for i in range(flat.shape[2]):
                        features[f"{name} {i} of round {t + 1}"] = flat[t, :, i]
                    if t:
                        features[f"change of {name} in round {t + 1}"] = (flat[t] - flat[t - 1])[:, 0]
            sides.append(features)
        bound, event = judged(sides[0], sides[1], promise.delta, level)
        check = f"black box, agent {who}'s messages, {runs:,} runs a side" + (f" ({event})" if event else "")
        caught = power(promise.epsilon, promise.delta, runs // 2, level)
        yield Verdict(subject, check, promise.epsilon, bound, "ε", caught, level, promise)


class _Always(Team):
    """Plays the first arm."""

    setting = "network"

    def act(self, obs: Obs) -> Array:
        return np.zeros(obs.who.shape, int)


def _rewards(rounds: int, n_agents: int) -> list[Array]:
    # 0, ½ and 1 by turns, each agent out of step with the others
    return [(np.arange(n_agents) + t) % 3 / 2 for t in range(rounds)]


def drawn_reports(
    wrapper: LocalLaplace, subject: str, rounds: int, runs: int, level: float, seed: int
) -> Iterator[Verdict]:
    """Noise of every report of every agent against its law."""
    told = _rewards(rounds, 3)
    shown = posts("CoopNetwork-v0", _Always(), [wrapper], told, runs, seed)["reward"]
    noise = shown - np.array(told)[:, None]
    law: OnGrid | Continuous
    if wrapper.grid is None:
        law = Continuous(stats.laplace(scale=1 / wrapper.epsilon).cdf)
    else:
        b = wrapper.grid / wrapper.epsilon
        x = np.arange(-math.ceil(36 * b), math.ceil(36 * b) + 1)
        law = OnGrid(DiscreteLaplace(b).pmf(x), int(x[0]), 0, wrapper.grid)
        noise = shown - np.rint(np.array(told) * wrapper.grid)[:, None] / wrapper.grid
    u = law.uniform(noise, np.random.default_rng(seed).random(noise.shape))
    return against_law(u, _seats(u, np.array(told)), level, subject, "drawn reports")


def coins(wrapper: LocalBernoulli, subject: str) -> Iterator[Verdict]:
    """Largest ratio of the chances that the mechanism gives any two rewards, either side of the coin."""
    (promise,) = (g for g in wrapper.promises(make_core("CoopNetwork-v0")) if math.isfinite(g.epsilon))
    sides = [f(wrapper.chance(np.linspace(0.0, 1.0, 1001))) for f in (lambda p: p, lambda p: 1.0 - p)]
    with np.errstate(divide="ignore"):
        measured = max(float(np.log(p.max()) - np.log(p.min())) for p in sides)
    yield Verdict(subject, "white box: the coins of any two rewards", promise.epsilon, measured, "ε", promise=promise)


def drawn_bits(
    wrapper: LocalBernoulli, subject: str, rounds: int, runs: int, level: float, seed: int
) -> Iterator[Verdict]:
    """Bits of every agent against their chances at the ε that is promised, and the ε that rewards 0 and 1 refute."""
    (promise,) = (g for g in wrapper.promises(make_core("CoopNetwork-v0")) if math.isfinite(g.epsilon))
    rounds -= rounds % 3  # each reward as often
    told = np.array(_rewards(rounds, 3))
    bits = posts("CoopNetwork-v0", _Always(), [wrapper], list(told), runs, seed)["reward"]
    yield Verdict(subject, "drawn bits: reports that are none", 0, float(((bits != 0) & (bits != 1)).sum()), "reports")
    lean = math.exp(-promise.epsilon)
    chance = ((told * (1.0 - lean) + lean) / (1.0 + lean))[:, None]
    luck = np.random.default_rng(seed).random(bits.shape)
    u = np.where(bits > 0, 1.0 - chance + luck * chance, luck * (1.0 - chance))
    yield from against_law(u, _seats(u, told), level, subject, "drawn bits", coins=True)
    for m in range(bits.shape[2]):
        ones = [int(bits[told[:, m] == x, :, m].sum()) for x in (0.0, 1.0)]
        tosses = rounds // 3 * runs
        sides = [(ones[1], ones[0]), (tosses - ones[0], tosses - ones[1])]
        measured = max(epsilon_lower_bound(a, b, tosses, 0.0, level / 2) for a, b in sides)
        check = f"drawn bits: ε that agent {m}'s refute, {tosses:,} of either reward"
        strength = power(promise.epsilon, 0.0, tosses, level / 2)
        yield Verdict(subject, check, promise.epsilon, measured, "ε", strength, level, promise)


def drawn_releases(
    wrapper: PrivateMeans, subject: str, rounds: int, runs: int, level: float, seed: int
) -> Iterator[Verdict]:
    """Noise of every released mean, in units of its scale, against Laplace(1)."""
    told = _rewards(rounds, 3)
    shown = posts("CoopNetwork-v0", _Always(), [wrapper], told, runs, seed)["mean"][..., 0]
    at = release_counts(wrapper.epsilon, wrapper.v, rounds)
    means = np.cumsum(told, 0)[at - 1] / at[:, None]
    noise = (shown[at - 1] - means[:, None]) * (at ** (1 - wrapper.v / 2))[:, None, None]
    u = stats.laplace.cdf(noise)
    return against_law(u, _seats(u, None), level, subject, "drawn releases")


def _seats(u: Array, told: Array | None) -> dict[str, Array]:
    groups = {"agent": np.broadcast_to(np.arange(u.shape[2]), u.shape)}
    if len(u) > 200:
        groups["stretch of the run"] = np.arange(len(u)) // 100
    if told is not None:
        groups["reward"] = np.broadcast_to(told[:, None], u.shape)
    return groups


# -- private means ------------------------------------------------------------------------------------------------


def published(own: str, first: float, epsilon: float = 1.0, v: float = 1.1, runs: int = 1, seed: int = 0) -> Array:
    """Messages of an agent with two arms, whose rewards are prescribed: `first`, then always ½.

    Returns
    -------
    (runs, 3, 2, 2) array
        After each of three rounds, per arm: the released mean, and the published count.
    """
    team = make_team("Private-UCB", epsilon=epsilon, v=v, own=own)
    told = [np.full(1, first), *[np.full(1, 0.5)] * (_ROUNDS - 1)]
    shown = posts(NETWORK, team, (), told, runs, seed)
    return np.stack([shown[name][:, :, 0].swapaxes(0, 1) for name in ("mean", "count")], 3)


def private_means(
    own: str, epsilon: float = 1.0, v: float = 1.1, runs: int = 1500, level: float = 1e-6, seed: int = 0
) -> Iterator[Verdict]:
    """One changed reward, the first of the warm-up, and three events fixed before any run.

    With ``own="exact"`` the third arm played is the better of the first two rewards, so the published count changes
    with certainty: what is promised about the released means does not hold for the counts.  With ``own="noised"`` it
    holds for both.

    Yields
    ------
    Verdict
        Per event: the ε composed over the rounds, and the ε that the runs refute.
    """
    high = published(own, 1.0, epsilon, v, runs, 2 * seed)
    low = published(own, 0.0, epsilon, v, runs, 2 * seed + 1)
    team = make_team("Private-UCB", epsilon=epsilon, v=v, own=own)
    env = assemble(NETWORK, team, runs=1, env={"n_agents": 1, "n_arms": 2, "means": [0.5, 0.5], "horizon": _ROUNDS})
    promise = next(g for g in env.privacy() if math.isfinite(g.epsilon) and g.delta == 0)
    events = {
        "count of arm 0 is 2 after 3 rounds": lambda x: x[:, -1, 0, 1] == 2,
        "first mean above 1": lambda x: x[:, 0, 0, 0] > 1,
        "first mean below 0": lambda x: x[:, 0, 0, 0] < 0,
    }
    for name, event in events.items():
        a, b = int(event(high).sum()), int(event(low).sum())
        measured = max(epsilon_lower_bound(x, y, runs, 0.0, level / 2) for x, y in ((a, b), (b, a)))
        caught = power(promise.epsilon, 0.0, runs, level / 2)
        yield Verdict(f"{NETWORK} own={own}", name, promise.epsilon, measured, "ε", caught, level, promise)
