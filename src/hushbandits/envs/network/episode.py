"""Rounds in compiled code: the beats' rules in one loop over blocks of the reward tape.

A `NetworkTeam` says by compiled rules what an agent does.  Nothing here has a state of its own: rounds are read from
the env's tapes and written to its ring and the team's arrays, so beats and episodes may take turns, at any round.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hushbandits.core.edge import locked
from hushbandits.core.ground.jit import jit
from hushbandits.core.ground.types import Array
from hushbandits.core.luck.arms import Arms
from hushbandits.core.luck.rewards import Bernoulli, ClippedGaussian, Constant, Gaussian, Law, Stable, Uniform
from hushbandits.core.luck.tapes import LONGEST
from hushbandits.core.payload import Payload
from hushbandits.core.team import Team
from hushbandits.core.world import World
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.network.env import CoopNetwork

__all__ = ["Mail", "NetworkTeam", "Rules", "for_all_runs", "standard_report"]


@jit
def standard_report(state, values, now, r, arms, rewards):
    """Post the arms and rewards of run r."""
    arm, reward = values
    for m in range(arms.shape[1]):
        arm[now, r, m], reward[now, r, m] = arms[r, m], rewards[r, m]


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
        Whether everyone sends a message; else nobody sends anything.
    post : (state, values, now, r, arms, rewards)
        After `learn`: write everyone's message to ``values[i][now, r]``, field by field.
    fields : tuple of str
        The message's.
    """

    act: Callable[..., None]
    learn: Callable[..., None]
    hear: Callable[..., None]
    sends: bool = True
    post: Callable[..., None] = standard_report
    fields: tuple[str, ...] = ("arm", "reward")


@lru_cache
def for_all_runs(rules: Rules) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return ``act(state, t, arms)`` and ``learn(state, arms, rewards)`` of every run: the beats of such a team."""
    act, learn = rules.act, rules.learn

    @jit
    def act_all(state, t, arms):
        for r in range(arms.shape[0]):
            act(state, t, r, arms)

    @jit
    def learn_all(state, arms, rewards):
        for r in range(arms.shape[0]):
            learn(state, r, arms, rewards)

    return act_all, learn_all


class Mail(NamedTuple):
    """The posts of the last rounds, ``(depth, R, M, …)``, and the ways they take (`Ring`, `Slots`)."""

    values: tuple[Array, ...]  # by the rules' fields
    sent: Array
    held: Array
    sender: Array
    delay: Array
    degree: Array
    lag: Array
    shell: Array


class Books(NamedTuple):
    """What a round leaves behind besides."""

    arms: Array  # (R, M) the team's
    rewards: Array  # (R, M) of the last round
    regret: Array  # (R, M)
    messages: Array  # (R,)
    edges: Array  # (G, M) transmissions of one post
    sends: bool


class Payment(NamedTuple):
    """What a pull pays, given its luck: whether this is below the location, or the location plus it, clipped."""

    location: Array  # (R, rounds, K), or (R, 1, K): all alike
    gap: Array
    coin: bool
    low: float
    high: float


#: Luck that does not depend on the arm, by law; `Bernoulli` compares it with the location, the others add it.
_SHIFTS: dict[type[Law], tuple[float, float]] = {
    Gaussian: (-math.inf, math.inf), ClippedGaussian: (0.0, 1.0), Uniform: (-math.inf, math.inf),
    Constant: (-math.inf, math.inf), Stable: (-math.inf, math.inf),
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

    def ahead(self) -> int:
        """How many rounds the rules can play from here; 0: the next one goes by the beats."""
        return LONGEST

    def episode(self, env: World, until: float = math.inf) -> bool:
        """Play every run in compiled code, if env and wrappers are ones that it knows."""
        if not (_ruled(self) and isinstance(env, CoopNetwork) and _known(env, self.rules)):
            return False
        goal, rules = math.ceil(min(until, env.horizon)), self.rules
        gears, blocks = _compiled(rules.act, rules.learn, rules.hear, rules.post), _pays(env)
        while (t := int(env._t[0])) < goal:
            rounds = min(goal - t, self.ahead())
            if rounds == 0:
                _beat(env, self)
            elif blocks:
                _by_blocks(env, self, gears, rounds)
            else:
                _by_rounds(env, self, gears, rounds)
        return True


def _beat(env: CoopNetwork, team: Team) -> None:
    obs = env.pull(team.act(env._seen()))
    assert obs.reward is not None
    obs = env.talk(team.speak(obs.reward))
    assert obs.inbox is not None
    team.hear(obs.inbox)


def _by_blocks(env: CoopNetwork, team: NetworkTeam, gears: _Gears, most: int) -> None:
    """Some rounds at once, where rewards are compiled."""
    env._phase = "broken"  # until they are over
    law, t, mail, books = env.law, int(env._t[0]), _mail(env, team.rules), _books(env, team)
    luck = env._luck.some(min(most, max(1, _BLOCK // env.n_arms)))
    rounds = len(luck)
    stand = env.arms.look(np.broadcast_to(np.arange(t, t + rounds), (env.runs, rounds)))
    low, high = _SHIFTS.get(type(law), (0.0, 1.0))
    payment = Payment(np.array(stand.location), np.array(stand.gap), type(law) is Bernoulli, low, high)
    kept = _kept(env, rounds)
    gears.rounds(team.state(), mail, books, payment, _shifted(law, luck), kept, t, env._ring.t)
    # the standard report has the arms of the last round; after it a team may write its next ones to its own
    now = (env._ring.t + rounds) % env._ring.depth
    played = mail.values[0][now] if team.rules.post is standard_report else books.arms
    env._arm, env._reward = played.copy(), locked(books.rewards)
    env._told = env._reward
    _tick(env, rounds)


def _by_rounds(env: CoopNetwork, team: NetworkTeam, gears: _Gears, rounds: int) -> None:
    """Some rounds one by one, whose rewards the env works out: any law, any arms."""
    env._phase = "broken"
    state, mail, books = team.state(), _mail(env, team.rules), _books(env, team)
    what = "message that leaves" if books.sends else "message"
    for _ in range(rounds):
        gears.act(state, books, int(env._t[0]) + 1)
        reward = env._told = env._pull(books.arms.copy())
        kept = _kept(env, 1)
        if not env._known_law:
            message = {"arm": env._arm, "reward": reward, "sent": np.ones(reward.shape, bool)}
            reward = env._checked(what, message, env._leaving)["reward"]
        np.copyto(books.rewards, reward)
        gears.close(state, mail, books, kept, env._ring.t)
        _tick(env, 1)


def _tick(env: CoopNetwork, rounds: int) -> None:
    env._ring.t += rounds
    env._t += rounds
    env._live = env._t < env.horizon
    env._phase = "pull" if env._live.any() else "over"


def _mail(env: CoopNetwork, rules: Rules) -> Mail:
    ring, at = env._ring, env.slots
    values = tuple(ring.values[field] for field in rules.fields)
    return Mail(values, ring.sent, ring.held, at.sender, at.delay, at.degree, at.lag, at.shell)


def _books(env: CoopNetwork, team: NetworkTeam) -> Books:
    arms = team._arm
    return Books(arms, np.empty(arms.shape), env._regret, env._messages, env._edges, team.rules.sends)


_BLOCK = 1 << 14  # numbers per run that are worked out ahead
_BEATS = ("act", "speak", "hear")


def _ruled(team: NetworkTeam) -> bool:
    """Whether the rules are those of its beats."""
    classes = [vars(cls) for cls in type(team).__mro__]
    first = {n: next((i for i, own in enumerate(classes) if n in own), math.inf) for n in ("rules", *_BEATS)}
    return not vars(team).keys() & first.keys() and first["rules"] <= min(first[name] for name in _BEATS)


#: What a subclass of the env may change without changing a round.
_FREE = {"_abc_impl", "arms_class", "curve_metrics", "measures", "public", "learner", "task", "not_rows", "stateful"}


def _known(env: CoopNetwork, rules: Rules) -> bool:
    """Whether its rounds are ours, and nothing but losses stands between the agents."""
    if set(env.sent_fields) != set(rules.fields) or any(field.latest for field in env.sent_fields.values()):
        return False
    if rules.post is not standard_report and not env._known_law:
        return False
    ours = {name for name in dir(CoopNetwork) if not name.startswith("__")} - _FREE
    own = type(env).__mro__[: type(env).__mro__.index(CoopNetwork)]
    return (
        not any(ours & vars(cls).keys() for cls in own)
        and env._abreast
        and env._phase in ("pull", "over")
        and not (env.edge_loss or env._meddlers)
        and all(_drops(w) for w in env.wrappers)
    )


def _drops(wrapper: Wrapper) -> bool:
    cls = type(wrapper)
    return wrapper.drops is not None and cls.tell is Wrapper.tell and cls.deliver is Wrapper.deliver


def _pays(env: CoopNetwork) -> bool:
    """Whether rewards can be worked out in compiled code."""
    law = type(env.law)
    # The gaps of arms that move are worked out for many rounds at once only where that takes no special function.
    plain = type(env.arms) is Arms and (law.mean is Law.mean or not env.arms.moving)
    return plain and (law is Bernoulli or law in _SHIFTS)


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
    values = {name: np.zeros((*shape, *field.shape), field.form) for name, field in env.sent_fields.items()}
    everyone = env.payload(**values, sent=np.ones(shape, bool))
    for row in kept:
        message: Payload = everyone
        for wrapper in env.wrappers:
            message = wrapper.send(message, env)
        row[:] = message["sent"]
    return kept


@jit
def _pay(payment, luck, i, r, books):
    location, gap, low, high = payment.location, payment.gap, payment.low, payment.high
    arms, rewards, regret = books.arms, books.rewards, books.regret
    at = i % location.shape[1]
    for m in range(arms.shape[1]):
        k, u = arms[r, m], luck[i, r, m]
        regret[r, m] += gap[r, at, k]
        if payment.coin:
            rewards[r, m] = 1.0 if u < location[r, at, k] else 0.0
        else:
            rewards[r, m] = min(max(location[r, at, k] + u, low), high)


@jit
def _leave(mail, books, kept, i, r, posted):
    # which posts leave, as in Ring.post, and the transmissions that each sets off
    depth, _, agents = mail.sent.shape
    before, now, spent, g = posted % depth, (posted + 1) % depth, 0, r % books.edges.shape[0]
    for m in range(agents):
        leaves = books.sends and (kept.shape[0] == 0 or kept[i, r, m])
        mail.sent[now, r, m], mail.held[now, r, m] = leaves, leaves or mail.held[before, r, m]
        if leaves:
            spent += books.edges[g, m]
    books.messages[r] += spent


class _Gears(NamedTuple):
    rounds: Callable[..., None]  # blocks of rounds
    act: Callable[..., None]  # a round up to its rewards
    close: Callable[..., None]  # and from there on


@lru_cache
def _compiled(
    act: Callable[..., None], learn: Callable[..., None], hear: Callable[..., None], post: Callable[..., None]
) -> _Gears:
    @jit
    def rounds(state, mail, books, payment, luck, kept, t, posted):
        for r in range(luck.shape[1]):  # run by run: what one touches stays in the caches
            for i in range(luck.shape[0]):
                act(state, t + i + 1, r, books.arms)
                _pay(payment, luck, i, r, books)
                learn(state, r, books.arms, books.rewards)
                post(state, mail.values, (posted + i + 1) % mail.sent.shape[0], r, books.arms, books.rewards)
                _leave(mail, books, kept, i, r, posted + i)
                hear(state, r, mail, posted + i + 1)

    @jit
    def begin(state, books, t):
        for r in range(books.arms.shape[0]):
            act(state, t, r, books.arms)

    @jit
    def close(state, mail, books, kept, posted):
        for r in range(books.arms.shape[0]):
            learn(state, r, books.arms, books.rewards)
            post(state, mail.values, (posted + 1) % mail.sent.shape[0], r, books.arms, books.rewards)
            _leave(mail, books, kept, 0, r, posted)
            hear(state, r, mail, posted + 1)

    return _Gears(rounds, begin, close)
