"""Play an env on rewards that are told, and write down all that an observer sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from hushbandits.audits.cases import Case
from hushbandits.core import Action, Array, Env, Inbox, Law, Message, Payload, Seeds, Streams, Team, World, Wrapper
from hushbandits.core.messages import Observation
from hushbandits.core.random.streams import generator_at
from hushbandits.core.rollout import begin
from hushbandits.core.wrapper import SecureFunction
from hushbandits.envs.feedback.cohort import Individuals
from hushbandits.envs.feedback.env import Feedback
from hushbandits.registry import assemble
from hushbandits.wrappers.loss import Loss

#: Blocks by what others earn (nothing, 1, or either in turn) and where a user stands (first, in the middle, last).
BACKGROUNDS = range(9)

#: Share of users, or of messages, that get lost where some do.
_LOST = 0.3
_nothing = partial(np.empty, 0)
#: In how many rounds what agents hear is written down.
HEARD = 3


class Told(Law):
    """A reward law that returns what it is told, whatever the luck: `now`, or what this returns."""

    now: ArrayLike | Callable[[], ArrayLike] = 0.0

    def __post_init__(self) -> None: ...

    def quantile(self, u: Array, location: Array) -> Array:
        """`now`, at the shape of u."""
        now = self.now() if callable(self.now) else self.now
        return np.broadcast_to(np.asarray(now, float), np.shape(u)).copy()


class Tap(Wrapper):
    """Keeps what passed last: messages, users one by one where they can be seen, and agents' own rewards."""

    message: dict[str, Array]
    users: Array | None
    left: Array
    earned: Array

    def tell(self, reward: Array, env: World) -> Array:
        self.earned = np.array(reward)
        return reward

    def send(self, message: Payload, env: World) -> Payload:
        self.message = {k: np.array(v) for k, v in message.items() if isinstance(v, np.ndarray)}
        if not env.payload.named and "reward" in message:
            crowd = message["reward"]
            self.left, self.users = np.array(crowd.n), crowd.values() if isinstance(crowd, Individuals) else None
        return message


@dataclass(frozen=True)
class Round:
    """One round of all runs.

    `told` is what agents are told of their own rewards (``None``: these are withheld), `said` what the team says
    (``None``: the standard report), `acting` who acted, ``(R, A)``.
    """

    t: int
    action: Action
    told: Array | None
    said: Message | None
    inbox: Inbox
    acting: Array


def rounds(env: Env, team: Team, seed: int | Seeds = 0, told: Sequence[ArrayLike] | None = None) -> Iterator[Round]:
    """Begin, and play rounds until every run is over, or rewards are no longer told.

    `told`: each round's rewards, where the env's law is `Told`.
    """
    obs = begin(env, team, seed)
    t = 0
    while obs.live.any() and (told is None or t < len(told)):
        if told is not None:
            cast(Told, env.law).now = told[t]
        who, action = np.array(obs.who), team.act(obs)
        action = tuple(map(np.array, action)) if isinstance(action, tuple) else np.array(action)
        obs = env.pull(action)
        reward = obs.reward
        said = team.speak(reward)  # type: ignore[arg-type]
        obs = env.talk(said)
        assert obs.inbox is not None
        team.hear(obs.inbox)
        yield Round(t, action, reward, said, obs.inbox, who)
        t += 1


class Script(Team):
    """Plays what is written, whatever it earns: ``plays(t, shape, n_arms)`` is the action of round t."""

    told = ()

    def __init__(self, plays: Callable[[int, tuple[int, ...], int], Action]) -> None:
        self._plays = plays

    def reset(self, env: World, rng: Streams) -> None:
        self._t, self._k = -1, env.n_arms

    def act(self, obs: Observation) -> Action:
        self._t += 1
        return self._plays(self._t, obs.who.shape, self._k)


def around() -> Team:
    """Return a team that plays the arms in turn; every agent begins with another one."""
    return Script(lambda t, shape, k: (t + np.arange(shape[1]) + np.zeros(shape, int)) % k)


class Mirror(Team):
    """Shows by its arms whatever it is told of its own rewards: who promises a run must bear such an agent.

    Its next arm is 1 where the last own reward, or the mean over all that it was told instead, is above ½.
    """

    told = ()

    def reset(self, env: World, rng: Streams) -> None:
        self._arm = np.zeros((len(rng), env.n_agents), int)

    def act(self, obs: Observation) -> Array:
        return self._arm

    def speak(self, reward: Array | None) -> None:
        if reward is not None:
            self._arm = (reward > 0.5).astype(int)

    def hear(self, inbox: Inbox) -> None:
        if "mean" in inbox.own:
            last = np.take_along_axis(np.asarray(inbox.own["mean"]), self._arm[..., None], 2)[..., 0]
            self._arm = (last > 0.5).astype(int)


@dataclass(frozen=True)
class Seen:
    """What was seen, each array ``(T, R, M, …)`` of T blocks or rounds.

    Parameters
    ----------
    env : Env
    fields : dict of array
        All that an observer sees, NaN where nothing was sent.
    earned : array, or list of ``(R, M, n)``
        Rewards; of blocks NaN of users whose message did not get through.
    arms : array, optional
        On a graph.
    sums, left : arrays, optional
        Of blocks: Σx of those users, and how many they are.
    users : list of ``(R, M, n)``
        Users' messages, where nobody hides them.
    luck : array, optional
        Uniforms that a block's own rewards are made of.
    """

    env: Any
    fields: dict[str, Array]
    earned: Sequence[Array]
    arms: Array = field(default_factory=_nothing)
    sums: Array = field(default_factory=_nothing)
    left: Array = field(default_factory=_nothing)
    users: Sequence[Array] = ()
    luck: Array = field(default_factory=_nothing)


def place(kind: int, n: int) -> int:
    """Where the user stands."""
    return (0, n // 2, n - 1)[kind % 3]


def block(kind: int, n: int, reward: ArrayLike) -> Array:
    """Rewards of a block of such a background, ``(…, n)``, in which one user earns `reward` ``(…)``."""
    others = (np.zeros(n), np.ones(n), np.arange(n) % 2)[kind // 3]
    return np.where(np.arange(n) == place(kind, n), np.asarray(reward)[..., None], others)


def stage(case: Case, horizon: int, n_agents: int, runs: int = 1, **more: object) -> Case:
    """Build a graph's env again, small, with its own wrappers between two taps; or as a team that promises asks."""
    first, last = Tap(name="audit: earned"), Tap(name="audit: left")
    settings = {"n_agents": n_agents, "horizon": horizon, "means": [0.5, 0.5], "rewards": Told(), **more}
    if case.team is not None:
        env = assemble(type(case.env), case.team, runs=runs, env=settings, wrappers=(first, last))
    else:
        own = [w for w in case.env.configured if not isinstance(w, Tap)]
        env = cast(Callable[..., Env], type(case.env))(wrappers=(first, *own, last), runs=runs, **settings)
    return case.within(env)


def _tap(env: Env, name: str) -> Tap:
    return next(w for w in env.wrappers if isinstance(w, Tap) and w.name == f"audit: {name}")


def shown(case: Case, team: Team, seed: int, told: Sequence[Array] | None = None) -> Seen:
    """Play what `stage` has built, and see all that is sent, what is first heard, and what agents are told."""
    rows, earned, arms = [], [], []
    for played in rounds(case.env, team, seed, told):
        first, message = _tap(case.env, "earned"), _tap(case.env, "left").message
        sent = message["sent"].astype(bool)
        row = {k: np.where(sent.reshape(sent.shape + (1,) * (x.ndim - 2)), x, np.nan) for k, x in message.items()}
        row["sent"] = sent
        if played.t < HEARD:  # whatever is done on the way in
            row |= {f"heard {name}": np.asarray(played.inbox[name]) for name in played.inbox.fields}
        if played.told is not None and not np.array_equal(played.told, first.earned):
            row["told reward"] = np.array(played.told)
        rows.append(row | {f"told {name}": np.array(value) for name, value in played.inbox.own.items()})
        earned.append(first.earned)
        arms.append(np.asarray(played.action))
    return Seen(case.env, _stacked(rows), earned, np.array(arms))


def seen(env: Env, blocks: Sequence[int | Array], runs: int, seed: int = 0, how: str = "", servers: int = 1) -> Seen:
    """Play blocks of users through the wrappers of an env, and write down what was seen.

    Blocks are rewards ``(n,)``, the same in all runs, or ``(R, M, n)``; or sizes alone, where users draw 0 or 1 by the
    env's own luck.  `how`: 3 in 10 users get lost ``"before"`` the mechanism, or ``"behind"`` it; or they are
    ``"pooled"`` and alike, and earn 0 and 1 by turns.
    """
    sizes = [x if isinstance(x, int) else x.shape[-1] for x in blocks]
    told = None
    if not isinstance(blocks[0], int):
        told = [np.broadcast_to(x, (runs, servers, n)).ravel() for x, n in zip(blocks, sizes, strict=True)]
    rewards, means = "bernoulli" if told is None else Told(), [0.0, 0.0, 1.0] if how == "pooled" else [0.5] * 3
    made = _planted(env, how, n_agents=servers, horizon=sum(sizes), runs=runs, rewards=rewards, means=means)
    team = Script(lambda t, shape, k: (np.full(shape, 2 * (t % 2)), np.full(shape, sizes[t])))
    rows, sums, left, luck, earned, users = ([] for _ in range(6))
    for played in rounds(made, team, seed, told):
        first, sent, last = (_tap(made, name) for name in ("earned", "sent", "left"))
        arrived = played.inbox.arrived[:, :, 0]
        row = {"n": played.inbox.total("n"), "arrived": arrived}
        row["reward"] = np.where(arrived, played.inbox.total("reward"), np.nan)
        if getattr(made.mechanism, "hidden_by", "sum") != "server":
            row |= {f"message's {k}": v for k, v in last.message.items() if v.shape == arrived.shape}
            row["message's users left"] = last.left
            users += [] if last.users is None else [last.users]
        rows.append(row)
        luck.append([[generator_at(server).random() for server in run] for run in made._blocks])
        left.append(sent.left)
        if first.users is None:
            sums.append(sent.left * (played.t % 2))
            continue
        there = np.ones(first.users.shape, bool) if sent.users is None else ~np.isnan(sent.users)
        earned.append(np.where(there, np.clip(first.users, 0.0, 1.0), np.nan))
        sums.append(np.nansum(earned[-1], 2))
    return Seen(
        made, _stacked(rows), earned, sums=np.array(sums), left=np.array(left), users=users, luck=np.array(luck)
    )


def _stacked(rows: list[dict[str, Array]]) -> dict[str, Array]:
    """Each field of all blocks or rounds that have it, as numbers."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([row[name] for row in rows if name in row], float) for name in names}


def _planted(env: Env, how: str, **settings: object) -> Feedback:
    """The protocol between taps: what users earn, what they send to a secure function, what leaves it."""
    wrappers, kind = env.wrappers, type(env)
    build: Callable[..., Feedback] = Feedback
    if issubclass(kind, Feedback) and kind._report is not Feedback._report:
        build = kind
    last = next((i for i, w in enumerate(wrappers) if isinstance(w, SecureFunction)), len(wrappers))
    lost = {how: [Loss(_LOST, name="audit: loss")]}
    stack = [Tap(name="audit: earned"), *lost.get("before", []), *wrappers[:last], *lost.get("behind", [])]
    stack += [Tap(name="audit: sent"), *wrappers[last:], Tap(name="audit: left")]
    return build(users="pooled" if how == "pooled" else "each", permute_arms=False, wrappers=stack, **settings)
