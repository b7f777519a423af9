"""Rounds in compiled code: the beats' rules in one loop over blocks of the reward tape.

A `NetworkTeam` says by compiled rules what an agent does.  Nothing here has a state of its own: rounds are read from the
env's tapes and written to its ring and the team's arrays, so beats and episodes may take turns, at any round.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hushbandits.core.arms import Arms
from hushbandits.core.edge import locked
from hushbandits.core.jit import jit
from hushbandits.core.rewards import Bernoulli, ClippedGaussian, Constant, Gaussian, Law, Uniform
from hushbandits.core.team import Team
from hushbandits.core.types import Array
from hushbandits.core.world import World
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.network.env import CoopNetwork

__all__ = ["Mail", "NetworkTeam", "Rules"]


class Rules(NamedTuple):
    """What all agents of run r do in a round, compiled; each rule gets the team's arrays first.

    Parameters
    ----------
    act : (state, t, r, arms)
        Beat 1 of round t = 1, 2, …: write their arms to ``arms[r]``.
    learn : (state, r, arms, rewards)
        Take in their own rewards, ``rewards[r]``.
    hear : (state, r, mail, t)
        Take in what arrives when t rounds have been posted.
    sends : bool
        Whether everyone sends the standard report; else nobody sends anything.
    """

    act: Callable[..., None]
    learn: Callable[..., None]
    hear: Callable[..., None]
    sends: bool = True


class Mail(NamedTuple):
    """The posts of the last rounds, ``(depth, R, M)``, and the ways they take (`Ring`, `Slots`)."""

    arm: Array
    reward: Array
    sent: Array
    held: Array
    sender: Array
    delay: Array
    degree: Array
    lag: Array
    shell: Array


class Books(NamedTuple):
    """What a round leaves behind besides."""

    arms: Array  # (R, M) of the last round
    rewards: Array  # (R, M) of the last round
    regret: Array  # (R, M)
    messages: Array  # (R,)
    edges: Array  # (G, M) transmissions of one post


class Payment(NamedTuple):
    """What a pull pays, given its luck: whether this is below the location, or the location plus it, clipped."""

    location: Array  # (R, K)
    gap: Array  # (R, K)
    coin: bool
    low: float
    high: float


#: Luck that does not depend on the arm, by law; `Bernoulli` compares it with the location, the others add it.
_SHIFTS: dict[type[Law], tuple[float, float]] = {
    Gaussian: (-math.inf, math.inf), ClippedGaussian: (0.0, 1.0), Uniform: (-math.inf, math.inf),
    Constant: (-math.inf, math.inf),
}  # fmt: skip


class NetworkTeam(Team):
    """Base of the agents whose rounds can be compiled.

    A subclass plays by the beats as any team does, and says the same by `rules`, which read and write the arrays of
    `state`.  One that changes a beat and not the rules goes by the beats.
    """

    setting = "network"
    rules: ClassVar[Rules]

    #: (R, M) arms of the last round.
    _arm: Array

    def state(self) -> Any:
        """A named tuple of the arrays that the rules read and write: the team's own, and room for sums."""
        raise NotImplementedError(f"{type(self).__name__} must define state()")

    def episode(self, env: World, until: float = math.inf) -> bool:
        """Play every run in compiled code, if env and wrappers are ones that it knows."""
        if not (_ruled(self) and isinstance(env, CoopNetwork) and _known(env)):
            return False
        goal = math.ceil(min(until, env.horizon))
        state, rules = self.state(), self.rules
        kernel = _compiled(rules.act, rules.learn, rules.hear)
        ring, slots = env._ring, env.slots
        mail = Mail(
            ring.values["arm"], ring.values["reward"], ring.sent, ring.held, slots.sender, slots.delay, slots.degree,
            slots.lag, slots.shell,
        )  # fmt: skip
        books = Books(self._arm, np.zeros(self._arm.shape), env._regret, env._messages, env._edges)
        payment = _payment(env)
        while (t := int(env._t[0])) < goal:
            luck = _shifted(env.law, env._luck.some(goal - t))
            kept = _kept(env, len(luck))
            kernel(state, mail, books, payment, luck, kept, t, ring.t, rules.sends)
            ring.t += len(luck)
            env._t += len(luck)
            env._arm, env._told = self._arm.copy(), locked(books.rewards.copy())
            env._reward = env._told
        env._live = env._t < env.horizon
        env._phase = "pull" if env._live.any() else "over"
        return True


_BEATS = ("act", "speak", "hear")


def _ruled(team: NetworkTeam) -> bool:
    """Whether the rules are those of its beats."""
    classes = [vars(cls) for cls in type(team).__mro__]
    first = {name: next(i for i, own in enumerate(classes) if name in own) for name in ("rules", *_BEATS)}
    return not vars(team).keys() & first.keys() and first["rules"] <= min(first[name] for name in _BEATS)


#: What a subclass of the env may change without changing a round.
_FREE = {"arms_class", "curve_metrics", "public", "task", "not_rows", "stateful"}


def _known(env: CoopNetwork) -> bool:
    """Whether its rounds are ours, and nothing but losses stands between the agents."""
    ours = {name for name in dir(CoopNetwork) if not name.startswith("__")} - _FREE
    own = type(env).__mro__[: type(env).__mro__.index(CoopNetwork)]
    return (
        not any(ours & vars(cls).keys() for cls in own)
        and env._whole
        and env._abreast
        and env._phase in ("pull", "over")
        and not (env.edge_loss or env._meddlers)
        and all(_drops(w) for w in env.wrappers)
        and not env.arms.moving
        and type(env.arms) is Arms
        and (type(env.law) is Bernoulli or type(env.law) in _SHIFTS)
    )


def _drops(wrapper: Wrapper) -> bool:
    cls = type(wrapper)
    return wrapper.drops is not None and cls.tell is Wrapper.tell and cls.deliver is Wrapper.deliver


def _payment(env: CoopNetwork) -> Payment:
    low, high = _SHIFTS.get(type(env.law), (0.0, 1.0))
    return Payment(env.arms.at(0), env.arms.gap(0), type(env.law) is Bernoulli, low, high)


def _shifted(law: Law, u: Array) -> Array:
    if type(law) is Bernoulli:
        return u
    if type(law) is ClippedGaussian:
        law = Gaussian(law.sigma)
    return law.quantile(u, np.array(0.0)) + np.zeros(u.shape)


def _kept(env: CoopNetwork, rounds: int) -> Array:
    """``(rounds, R, M)`` which messages the wrappers let through, or ``(0, R, M)``: all."""
    shape = env._who.shape
    if not env.wrappers:
        return np.empty((0, *shape), bool)
    kept = np.empty((rounds, *shape), bool)
    everyone = env.payload(arm=np.zeros(shape, np.int64), reward=np.zeros(shape), sent=np.ones(shape, bool))
    for row in kept:
        message = everyone
        for wrapper in env.wrappers:
            message = wrapper.send(message, env)
        row[:] = message["sent"]
    return kept


@lru_cache
def _compiled(act: Callable[..., None], learn: Callable[..., None], hear: Callable[..., None]) -> Callable[..., None]:
    @jit
    def rounds(state, mail, books, payment, luck, kept, t, posted, sends):
        # Run by run: what one run touches stays in the caches.
        arms, rewards, regret, edges = books.arms, books.rewards, books.regret, books.edges
        location, gap, coin, low, high = payment.location, payment.gap, payment.coin, payment.low, payment.high
        arm, reward, sent, held = mail.arm, mail.reward, mail.sent, mail.held
        depth, runs, agents = sent.shape
        lossy = kept.shape[0] > 0
        for r in range(runs):
            g = r % edges.shape[0]
            for i in range(luck.shape[0]):
                act(state, t + i + 1, r, arms)
                before, now, spent = (posted + i) % depth, (posted + i + 1) % depth, 0
                for m in range(agents):
                    k, u = arms[r, m], luck[i, r, m]
                    regret[r, m] += gap[r, k]
                    if coin:
                        x = 1.0 if u < location[r, k] else 0.0
                    else:
                        x = min(max(location[r, k] + u, low), high)
                    rewards[r, m] = x
                    leaves = sends and (not lossy or kept[i, r, m])
                    arm[now, r, m], reward[now, r, m], sent[now, r, m] = k, x, leaves
                    held[now, r, m] = leaves or held[before, r, m]
                    if leaves:
                        spent += edges[g, m]
                books.messages[r] += spent
                learn(state, r, arms, rewards)
                hear(state, r, mail, posted + i + 1)

    return rounds
