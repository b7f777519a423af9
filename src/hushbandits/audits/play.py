"""Functions that play an env on prescribed rewards, and record everything that an observer sees."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from hushbandits.audits.cases import Case
from hushbandits.core import Env, Inbox, Law, Observation, Payload, SecureFunction, Streams, Team, World, Wrapper
from hushbandits.core.random.streams import generator_at
from hushbandits.core.rollout import begin
from hushbandits.core.utils import Action, Array, Message, Seeds
from hushbandits.envs.feedback.env import Feedback
from hushbandits.envs.feedback.users import Individuals
from hushbandits.registry import assemble
from hushbandits.wrappers.loss import Loss

#: Blocks by the rewards of others (all 0, all 1, or alternating) and the place of a user (first, middle, last).
BACKGROUNDS = range(9)
_NOTHING: Array = np.empty(0)


class Prescribed(Law):
    """Reward law that returns prescribed values, and ignores random numbers."""

    now: ArrayLike | Callable[[], ArrayLike] = 0.0

    def __post_init__(self) -> None: ...

    def quantile(self, u: Array, location: Array) -> Array:
        """Return the prescribed values, broadcast to the shape of `u`."""
        now = self.now() if callable(self.now) else self.now
        return np.broadcast_to(np.asarray(now, float), np.shape(u)).copy()


class Tap(Wrapper):
    """Wrapper that records the latest own rewards and messages, and each user's message unless a part hides it."""

    def alter_own_reward(self, reward: Array, env: World) -> Array:
        self.earned = np.array(reward)
        return reward

    def send(self, message: Payload, env: World) -> Payload:
        self.message = {k: np.array(v) for k, v in message.items() if isinstance(v, np.ndarray)}
        if not env.message_class.identified_senders and "reward" in message:
            crowd = message["reward"]
            self.left, self.users = np.array(crowd.n), crowd.values() if isinstance(crowd, Individuals) else None
        return message


class Round(NamedTuple):
    """Record of one round of all runs.

    `given` are the published own rewards of agents (``None``: withheld), `said` the team's messages (``None``: the
    default message), `acting` the active agents, ``(R, A)``.
    """

    t: int
    action: Action
    given: Array | None
    said: Message | None
    inbox: Inbox
    acting: Array


def rounds(env: Env, team: Team, seed: int | Seeds = 0, given: Sequence[ArrayLike] | None = None) -> Iterator[Round]:
    """Play `team` in `env`, and yield each round until every run ends, or until the rewards `given` are used up.

    `given`: rewards of each round, for envs with the law `Prescribed`.
    """
    obs = begin(env, team, seed)
    t = 0
    while obs.running.any() and (given is None or t < len(given)):
        if given is not None:
            cast(Prescribed, env.law).now = given[t]
        who, action = np.array(obs.active_agents), team.act(obs)
        action = tuple(map(np.array, action)) if isinstance(action, tuple) else np.array(action)
        obs = env.pull(action)
        reward = obs.reward
        said = team.compose(reward)  # type: ignore[arg-type]
        obs = env.communicate(said)
        assert obs.inbox is not None
        team.receive(obs.inbox)
        yield Round(t, action, reward, said, obs.inbox, who)
        t += 1


class Script(Team):
    """Agent with prescribed actions: ``plays(t, shape, n_arms)`` returns the action of round t."""

    required_own_reward = ()

    def __init__(self, plays: Callable[[int, tuple[int, ...], int], Action]) -> None:
        self._plays = plays

    def reset(self, env: World, rng: Streams) -> None:
        self._t, self._k = -1, env.n_arms

    def act(self, obs: Observation) -> Action:
        self._t += 1
        return self._plays(self._t, obs.active_agents.shape, self._k)


def around() -> Team:
    """Return a team in which the acting agent m plays arm ``(t + m) mod K`` in round t."""
    return Script(lambda t, shape, k: (t + np.arange(shape[1]) + np.zeros(shape, int)) % k)


class Mirror(Team):
    """Agent that reveals its last published reward by its next arm, to test guarantees about a whole run.

    Its next arm is 1 if the last own reward, or the mean of all published ones, is above ½.
    """

    required_own_reward = ()

    def reset(self, env: World, rng: Streams) -> None:
        self._arm = np.zeros((len(rng), env.n_agents), int)

    def act(self, obs: Observation) -> Array:
        return self._arm

    def compose(self, reward: Array | None) -> None:
        if reward is not None:
            self._arm = (reward > 0.5).astype(int)

    def receive(self, inbox: Inbox) -> None:
        if "mean" in inbox.own:
            self.compose(np.take_along_axis(np.asarray(inbox.own["mean"]), self._arm[..., None], 2)[..., 0])


class Seen(NamedTuple):
    """Record of R runs: arrays ``(T, R, M, …)`` over T blocks or rounds, and M servers or agents.

    Parameters
    ----------
    env : Env
    fields : dict of array
        Everything that an observer sees, NaN if no message was sent.
    earned : array, or list of ``(R, M, n)``
        Rewards; for blocks, NaN for users whose message was lost.
    sums, left : arrays, optional
        For blocks: Σx of the surviving users, and their number.
    users : list of ``(R, M, n)``
        Users' messages, if no part hides them.
    uniforms : array, optional
        Uniforms behind a block's rewards, if the env draws them.
    arms : array, optional
        Arms, on a graph.
    """

    env: Env
    fields: dict[str, Array]
    earned: Sequence[Array]
    sums: Array = _NOTHING
    left: Array = _NOTHING
    users: Sequence[Array] = ()
    uniforms: Array = _NOTHING
    arms: Array = _NOTHING


def place(kind: int, n: int) -> int:
    """Return the index of the changed user among `n`: the first, middle or last, by `kind` modulo 3."""
    return (0, n // 2, n - 1)[kind % 3]


def block(kind: int, n: int, reward: ArrayLike) -> Array:
    """Return rewards ``(…, n)`` of a block with background `kind`, in which the changed user has `reward` ``(…)``."""
    others = (np.zeros(n), np.ones(n), np.arange(n) % 2)[kind // 3]
    return np.where(np.arange(n) == place(kind, n), np.asarray(reward)[..., None], others)


def stage(case: Case, horizon: int, n_agents: int, runs: int = 1, **more: object) -> Case:
    """Return the case in a new env on a graph, with recording wrappers before and after the case's wrappers."""
    first, last = Tap(name="audit: earned"), Tap(name="audit: left")
    settings = {"n_agents": n_agents, "horizon": horizon, "means": [0.5, 0.5], "rewards": Prescribed(), **more}
    if case.team is not None:
        env = assemble(type(case.env), case.team, runs=runs, env=settings, wrappers=(first, last))
    else:
        own = [w for w in case.env.configured if not isinstance(w, Tap)]
        env = cast(Callable[..., Env], type(case.env))(wrappers=(first, *own, last), runs=runs, **settings)
    return case.within(env)


def _tap(env: Env, name: str) -> Tap:
    return next(w for w in env.wrappers if isinstance(w, Tap) and w.name == f"audit: {name}")


def shown(case: Case, team: Team, seed: int, given: Sequence[Array] | None = None) -> Seen:
    """Play the env of the case on the rewards `given`, and return the recorded messages, inboxes and own rewards."""
    rows, earned, arms = [], [], []
    for played in rounds(case.env, team, seed, given):
        first, message = _tap(case.env, "earned"), _tap(case.env, "left").message
        sent = message["sent"].astype(bool)
        row = {k: np.where(sent.reshape(sent.shape + (1,) * (x.ndim - 2)), x, np.nan) for k, x in message.items()}
        row["sent"] = sent
        if played.t < 3:  # inboxes are limited to the first rounds
            row |= {f"heard {name}": np.asarray(played.inbox[name]) for name in played.inbox.fields}
        if played.given is not None and not np.array_equal(played.given, first.earned):
            row["published reward"] = np.array(played.given)
        rows.append(row | {f"published {name}": np.array(value) for name, value in played.inbox.own.items()})
        earned.append(first.earned)
        arms.append(np.asarray(played.action))
    return Seen(case.env, _stacked(rows), earned, arms=np.array(arms))


def seen(env: Env, blocks: Sequence[int | Array], runs: int, seed: int = 0, how: str = "", servers: int = 1) -> Seen:
    """Play blocks of users through the wrappers of an env, and return the record of what an observer sees.

    Blocks are rewards ``(n,)``, the same in all runs, or ``(R, M, n)``; or sizes alone, where users draw 0 or 1 by the
    env's random numbers.  `how`: 3 in 10 users are lost ``"before"`` the mechanism, or ``"behind"`` it; or they are
    ``"pooled"`` and alike, with rewards 0 and 1 in turn.
    """
    sizes = [x if isinstance(x, int) else x.shape[-1] for x in blocks]
    given = None
    if not isinstance(blocks[0], int):
        given = [np.broadcast_to(x, (runs, servers, n)).ravel() for x, n in zip(blocks, sizes, strict=True)]
    rewards, means = ("bernoulli" if given is None else Prescribed(), [0.0, 0.0, 1.0] if how == "pooled" else [0.5] * 3)
    made = _planted(env, how, n_agents=servers, horizon=sum(sizes), runs=runs, rewards=rewards, means=means)
    team = Script(lambda t, shape, k: (np.full(shape, 2 * (t % 2)), np.full(shape, sizes[t])))
    rows, sums, left, uniforms, earned, users = ([] for _ in range(6))
    for played in rounds(made, team, seed, given):
        first, sent, last = (_tap(made, name) for name in ("earned", "sent", "left"))
        arrived = played.inbox.arrived[:, :, 0]
        row = {"n": played.inbox.total("n"), "arrived": arrived}
        row["reward"] = np.where(arrived, played.inbox.total("reward"), np.nan)
        if getattr(made.mechanism, "hidden_by", "sum") != "server":
            row |= {f"message's {k}": v for k, v in last.message.items() if v.shape == arrived.shape}
            row["message's users left"] = last.left
            users += [] if last.users is None else [last.users]
        rows.append(row)
        uniforms.append([[generator_at(server).random() for server in run] for run in made._blocks])
        left.append(sent.left)
        if first.users is None:
            sums.append(sent.left * (played.t % 2))
            continue
        there = np.ones(first.users.shape, bool) if sent.users is None else ~np.isnan(sent.users)
        earned.append(np.where(there, np.clip(first.users, 0.0, 1.0), np.nan))
        sums.append(np.nansum(earned[-1], 2))
    return Seen(made, _stacked(rows), earned, np.array(sums), np.array(left), users, np.array(uniforms))


def _stacked(rows: list[dict[str, Array]]) -> dict[str, Array]:
    """Return each field as a float array, stacked over the rows that contain the field."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([row[name] for row in rows if name in row], float) for name in names}


def _planted(env: Env, how: str, **settings: object) -> Feedback:
    """Return a feedback env with the wrappers of `env`, interleaved with wrappers that record messages.

    The latter record the users' rewards, and the input and output of the secure function.
    """
    wrappers, kind = env.wrappers, type(env)
    own = issubclass(kind, Feedback) and kind._report is not Feedback._report
    build = cast(Callable[..., Feedback], kind if own else Feedback)
    last = next((i for i, w in enumerate(wrappers) if isinstance(w, SecureFunction)), len(wrappers))
    lost = {how: [Loss(0.3, name="audit: loss")]}
    stack = [Tap(name="audit: earned"), *lost.get("before", []), *wrappers[:last], *lost.get("behind", [])]
    stack += [Tap(name="audit: sent"), *wrappers[last:], Tap(name="audit: left")]
    users = "aggregate" if how == "pooled" else "individual"
    return build(simulate_users=users, permute_arms=False, wrappers=stack, **settings)
