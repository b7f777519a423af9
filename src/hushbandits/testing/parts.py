"""Checkers for agents, wrappers and policies, which compare behaviour with declarations."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hushbandits.agents.per_agent import Unlearning
from hushbandits.core import Array, Env, Field, Inbox, Payload, Streams, Team, World, Wrapper, checked, spawn_seeds
from hushbandits.core.utils import Params, integer, shown
from hushbandits.core.wrapper import HOOKS, folded, outward
from hushbandits.policies.policy import Policy
from hushbandits.policies.registry import AnyPolicy, make_policy
from hushbandits.registry import AnyAgent, AnyEnv, AnyWrapper, make_team, make_wrapper
from hushbandits.testing import games
from hushbandits.testing.games import calling, check_games, check_hooks, required, same

_AGENT = ("act", "compose", "receive")
_TEAM = (*_AGENT, "reset", "validate_env", "requirements", "metrics", "claimed_guarantees", "episode", "runs_at_once")
_WRAPPER = (*HOOKS, "message_fields", "inbox_fields", "own_reward_field", "metrics", "claimed_guarantees")
_PLAYS, _LEARNERS = 40, 3


def check_agent(
    agent: AnyAgent,
    env_id: AnyEnv | None = None,
    *,
    seed: int = 0,
    env: Params | None = None,
    wrappers: Sequence[AnyWrapper] = (),
    **kwargs: object,
) -> None:
    """Raise ``AssertionError``, with class and hook, if an agent violates the contract of agents.

    A few short episodes are played; the number of runs differs from the numbers of agents and arms.  The checks are:

    * names: no method is a misspelt hook (``recieve``, ``compse``), and no method replaces a data attribute of `Team`
      (``required_inbox``);
    * the class of a single agent has `compose` or `receive`, since it cannot learn without, or has ``blind = True``;
    * actions and messages: shape, dtype and range, ``(R, A, …)``; swapped axes of runs and agents are detected, and so
      are rewards that no arm pays;
    * the seed determines all actions, messages and metrics, independent of the global random generators, which stay
      unchanged;
    * a single run equals its row of a batch;
    * `reset` restores the initial state: a used instance plays like a new one, and no class attribute changes;
    * metrics are finite numbers, a row per run;
    * an agent with an ``epsilon`` has a guarantee: its own (``claimed_guarantees``, which returns ``()`` if that ε is
      no privacy parameter), or its env's.

    Parameters
    ----------
    agent : str, class or callable
        As in `make_team`; every episode gets a new one.
    env_id : str or class, optional
        Env to play in; default: the first env of `list_envs` that accepts the agent.
    seed : int
        Seed of the runs.
    env : dict, optional
        Parameters of the env; default: a short episode.
    wrappers : sequence of Wrapper, of their names or classes
        Wrappers of messages.
    **kwargs
        The agent's parameters.

    Raises
    ------
    ValueError, TypeError
        Unknown names, invalid parameters, or no env accepts the agent.

    Examples
    --------
    >>> import numpy as np
    >>> check_agent("Multi-UCB")
    >>> class Stuck:
    ...     blind = True
    ...     def __init__(self, m, rng):
    ...         self.rng = np.random.default_rng()
    ...     def act(self, t):
    ...         return int(self.rng.integers(2))
    >>> check_agent(Stuck, "CoopNetwork-v0")
    Traceback (most recent call last):
        ...
    AssertionError: Stuck: the same seed, after numpy.random.seed(1): ... differ at ...
    """

    def make() -> Team:
        return agent if isinstance(agent, Team) else make_team(agent, **kwargs)

    try:
        cls = games.written(make())
    except Unlearning as error:
        raise AssertionError(str(error)) from None
    check_hooks(cls, *((Team, _TEAM) if issubclass(cls, Team) else (object, _AGENT)))
    builds = games.grounds(make, env_id, env, wrappers)[:1]
    check_games(cls, builds, seed, lambda _, team: team, isinstance(agent, str))


def check_wrapper(
    wrapper: AnyWrapper,
    env_id: AnyEnv | None = None,
    *,
    seed: int = 0,
    env: Params | None = None,
    before: Sequence[AnyWrapper] = (),
    **kwargs: object,
) -> None:
    """Raise ``AssertionError``, with class and hook, if a wrapper violates the contract of wrappers.

    The agent ``Random`` plays short episodes, in one env of every setting that accepts the wrapper.  The checks are:

    * names: no method is a misspelt hook (``sent``, ``delivers``);
    * messages behind it, inboxes behind it and agents' own rewards match `message_fields`, `inbox_fields` and
      `own_reward_field`:
      fields, shapes, dtypes and ranges; `send` returns a new message and changes none in place;
    * `drop_prob`, `max_drop_fraction` and `noise_range` are numbers; if `drop_prob` is a rate, the wrapper adds no
      message,
      and at rate 0 it drops none;
    * the seed determines everything, independent of the global random generators, which stay unchanged;
    * a single run equals its row of a batch;
    * an instance that was used in another env works like a new one, and no class attribute changes;
    * metrics are finite numbers, a row per run (privacy costs, `privacy_cost_metrics`, may be ∞);
    * a wrapper with an ``epsilon`` or with noise has a guarantee (``claimed_guarantees`` returns ``()`` for none).

    Parameters
    ----------
    wrapper : Wrapper, its name or class
    env_id : str or class, optional
        Env to play in; default: one env of every setting that accepts the wrapper.
    seed : int
        Seed of the runs.
    env : dict, optional
        Parameters of the env; default: a short episode.
    before : sequence of Wrapper, of their names or classes
        Wrappers in front of it, if it needs any.
    **kwargs
        Parameters of the wrapper, if it is not built yet.

    Raises
    ------
    ValueError, TypeError
        Unknown names, invalid parameters, or no env accepts the wrapper.

    Examples
    --------
    >>> check_wrapper("Loss", rate=0.5)
    >>> class Lost(Wrapper):
    ...     def sned(self, message, env): ...
    >>> check_wrapper(Lost)
    Traceback (most recent call last):
        ...
    AssertionError: Lost.sned is never called; the hook is send
    """
    made = wrapper if isinstance(wrapper, Wrapper) else make_wrapper(wrapper, **kwargs)
    cls = type(made)
    check_hooks(cls, Wrapper, _WRAPPER)
    for what, high in (("drop_prob", 1.0), ("max_drop_fraction", 1.0), ("noise_range", math.inf)):
        value = getattr(made, what)
        allowed = isinstance(value, (int, float, np.number)) and bool(0.0 <= value <= high)
        allowed |= value is None and what == "drop_prob"
        required(allowed, f"{cls.__name__}.{what} must be a number in [0, {high:g}], not {value!r}")

    def own(core: Env) -> Wrapper:  # the env's copy
        return next(w for w in core.wrappers if w.name == made.name)

    def watch(core: Env) -> None:
        vars(own(core)).update(_watched(core, own(core)))

    builds = games.grounds(lambda: make_team("Random"), env_id, env, [*before, made])
    check_games(cls, builds, seed, lambda core, _: own(core), isinstance(wrapper, str), watch)


def _watched(core: Env, wrapper: Wrapper) -> dict[str, Callable[..., object]]:
    """Return the hooks of a wrapper in an env, extended by checks of return values against the declarations."""
    name, at = type(wrapper).__name__, core.wrappers.index(wrapper)
    sends = outward(core.wrappers[: at + 1], core.fields, core.message_class, core)[-1]
    hears = folded("inbox_fields", core.wrappers[at:][::-1], core._offers(core.sent_fields), core)[-1]
    before, own_reward_field = core._own_rewards[at : at + 2]

    def send(message: Payload, out: Payload) -> None:
        unsent = {*core._payload({})} if core._payload else set()
        said = {field: out[field] for field in out if field in sends or field not in unsent} if unsent else out
        core._checked("message", said, {**sends, "sent": Field(dtype="?")})
        if "sent" not in message:
            return
        gone, new = (bool((a["sent"] & ~b["sent"]).any()) for a, b in ((message, out), (out, message)))
        undeclared = gone and wrapper.declares and not wrapper.max_drop_fraction > 0
        required(not undeclared, f"{name}.send drops messages: set drop_prob, or list the operation 'drop'")
        if wrapper.drop_prob is not None:
            stated = f"although drop_prob={wrapper.drop_prob}"
            required(not new, f"{name}.send adds messages, {stated}")
            required(wrapper.drop_prob > 0 or not gone, f"{name}.send drops messages, {stated}")

    def deliver(inbox: Inbox, out: Inbox) -> None:
        games.check_inbox(out, hears, core.n_arms)

    def alter_own_reward(reward: Array, out: Array) -> None:
        field = replace(own_reward_field.get("reward", Field()), shape=reward.shape[2:])
        if np.shape(out) == reward.shape:  # nothing observed, so nothing is published
            out = np.where(np.isnan(reward), max(0.0, field.range[0]), out)
        checked("reward", out, field, reward.shape[:2])

    def published(_: World, out: Mapping[str, Array]) -> None:
        new = {*own_reward_field} - {*before} - {"reward"}
        declared = new <= {*out} <= {*own_reward_field}
        required(declared, f"{name}.published returns {[*out]}, but own_reward_field declares {sorted(new)}")
        for field, value in out.items():
            checked(field, value, own_reward_field[field], core.active_agents.shape)

    def metrics(_: World, out: Mapping[str, Array]) -> None:
        taken = () if wrapper.ships("metrics") else core._metrics()  # built-in mechanisms share names
        games.check_metrics(type(wrapper), out, core.runs, wrapper.privacy_cost_metrics, taken)
        for curve in wrapper.logged_metrics:
            measured = np.ndim(out.get(curve, 0)) == 1
            required(measured, f"{name}.metrics must measure {curve!r}, one number per run, for its curve")

    def reset(_: World, out: object) -> None:
        required(out is None, f"{name}.reset must return nothing, not {out!r}")

    checks = send, deliver, alter_own_reward, published, metrics, reset
    return {check.__name__: _held(wrapper, check) for check in checks}


def _held(wrapper: Wrapper, check: Callable[..., None]) -> Callable[..., object]:
    """Return the wrapper's hook with the name of `check`, extended by a check of each call.

    An exception, a changed argument or a failed check raises ``AssertionError``.
    """
    cls, hook, function = type(wrapper), check.__name__, getattr(wrapper, check.__name__)

    def call(given: object, *rest: object) -> object:
        message = given if isinstance(given, Payload) else {"reward": given} if hook == "alter_own_reward" else {}
        was = {field: value.copy() for field, value in message.items() if isinstance(value, np.ndarray)}
        with calling(cls, hook):
            out = function(given, *rest)
            what = f"{cls.__name__}.{hook} changes its argument; return a new object: before and after"
            same(was, {field: message.get(field) for field in was}, what)
            check(given, out)
        return out

    return call


def check_policy(policy: AnyPolicy, *, n_arms: int = 4, seed: int = 0, **params: object) -> None:
    """Raise ``AssertionError``, with class and method, if a policy violates the contract of policies.

    The checks are:

    * names: no method is a misspelt hook (``chose``, ``updated``);
    * `state` returns a named tuple of arrays with a leading axis of learners;
    * ``choose`` returns an arm, an integer in 0..K − 1;
    * rows: an update of a learner changes no other learner's row, and a single learner plays like its row of a batch;
    * the seed determines all arms, independent of the global random generators, which stay unchanged;
    * a new state is independent of old ones, and no class attribute changes.

    Parameters
    ----------
    policy : str, class or Policy
        As in `make_policy`.
    n_arms : int
        K; a square number, for policies that play duels.
    seed : int
        Seed of the random numbers, and of the rewards in [0, 1].
    **params
        Parameters of the policy.

    Raises
    ------
    ValueError, TypeError
        Unknown names or invalid parameters.

    Examples
    --------
    >>> check_policy("UCB1")
    """
    n_arms = integer("n_arms", n_arms, 2)
    cls = policy if isinstance(policy, type) else type(make_policy(policy, **params))
    # Before the policy is built: a misspelt method is missing.
    check_hooks(cls, Policy, ("state", "choose", "update") if issubclass(cls, Policy) else ())
    made = make_policy(policy, **params)
    learners = _LEARNERS + (n_arms == _LEARNERS)
    uniforms = Streams(spawn_seeds(seed, 1)).cursors(learners) if made.random else None
    rewards = np.random.default_rng(seed).random((learners, _PLAYS))

    def play(rows: slice) -> Array:
        return _arms(made, n_arms, rewards[rows], None if uniforms is None else uniforms[rows])

    with games.remembering(cls):
        first = games.repeatable(lambda used: play(slice(learners)), cls.__name__)
        for r in range(learners):
            what = f"{cls.__name__}: learner {r} alone and its row among {learners}"
            same(play(slice(r, r + 1)), first[:, r : r + 1], what)


def _arms(policy: Policy, n_arms: int, rewards: Array, uniforms: Array | None) -> Array:
    """Play a policy on fixed rewards, check its state and arms, and return the arms, ``(plays, L)``."""
    cls, (learners, plays) = type(policy), rewards.shape
    with calling(cls, "state"):
        state = policy.state(learners, n_arms, plays, None if uniforms is None else uniforms.copy())
    named = isinstance(state, tuple) and hasattr(state, "_asdict")
    required(named, f"{cls.__name__}.state must return a named tuple of arrays, not {type(state).__name__}")
    rows = {name: value for name, value in state._asdict().items() if isinstance(value, np.ndarray)}
    for name, value in rows.items():
        of = f"{cls.__name__}.state: {name} must have shape ({learners}, …), a row per learner, not {value.shape}"
        required(value.shape[:1] == (learners,), of)
    arms = np.zeros((plays, learners), np.int64)
    for t, r in np.ndindex(arms.shape):
        at = f"play {t + 1} of learner {r}"
        with calling(cls, "choose", at):
            arm = policy.choose(state, r)
        allowed = isinstance(arm, (int, np.integer)) and not isinstance(arm, bool) and arm in range(n_arms)
        required(allowed, f"{cls.__name__}.choose, {at}: must return an arm in 0..{n_arms - 1}, not {shown(arm)}")
        arms[t, r] = arm
        before = {name: np.delete(value, r, 0) for name, value in rows.items()}
        with calling(cls, "update", at):
            policy.update(state, r, int(arms[t, r]), float(rewards[r, t]))
        after = {name: np.delete(value, r, 0) for name, value in rows.items()}
        same(before, after, f"{cls.__name__}.update of learner {r} changes another learner's row: before and after")
    return arms
