"""Shared code of the checkers, such as envs to play in, traces of runs and checks of every run."""

import copy
import difflib
import math
import pickle
import random
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import numpy as np

from hushbandits.agents.per_agent import PerAgent
from hushbandits.core import Array, Env, Field, Fields, Inbox, Message, Observation, Seeds, Team, checked, spawn_seeds
from hushbandits.core.guarantee import GuaranteeSource
from hushbandits.core.rollout import begin
from hushbandits.core.team import check_compatible, revealed
from hushbandits.core.utils import Params, parameters, words
from hushbandits.registry import AnyEnv, AnyWrapper, assemble, list_envs, takes

_Seen = TypeVar("_Seen")
ROUNDS = 24
#: For a run that is pickled: its rounds, and the number of rounds that begin with a pickle.
PICKLED, FIRST = 60, 8

#: Builds an env and a team for a number of runs.
Built = Callable[[int], tuple[Env, Team]]
#: A trace: ``"round 1"`` and so on, and ``"metrics"`` at the end.
Trace = dict[str, dict[str, Array]]


# -- comparing ------------------------------------------------------------------------------------------------


def required(promise: bool, broken: str) -> None:
    """Raise ``AssertionError(broken)`` unless `promise` is true."""
    # Not an assert statement, which python -O would remove.
    if not promise:
        raise AssertionError(broken)


def repeatable(play: Callable[[bool], _Seen], whose: str) -> _Seen:
    """Return the trace of ``play(False)``; raise ``AssertionError`` if a repetition or ``play(True)`` gives another.

    Raise ``AssertionError`` if a run changes a global random generator, if a second new instance gives another trace
    after the generators were reseeded, or if a used instance does.  The generators are restored afterwards.
    """
    before, games = _generators(), []
    try:
        for trial in range(3):
            np.random.seed(trial)  # noqa: NPY002
            random.seed(trial)
            stand = _generators()
            games.append(play(trial == 2))
            for name, state in _generators().items():
                required(difference(stand[name], state) is None, f"{whose}: it changed the global state of {name}")
    finally:
        np.random.set_state(before["numpy.random"])  # noqa: NPY002
        random.setstate(before["random"])
    first, again, used = games
    same(first, again, f"{whose}: the same seed, after numpy.random.seed(1): two runs")
    same(first, used, f"{whose}.reset: the first run of a new instance and the second run of a used one")
    return first


def _generators() -> Params:
    return {"numpy.random": np.random.get_state(), "random": random.getstate()}  # noqa: NPY002


def same(one: object, two: object, what: str) -> None:
    """Raise ``AssertionError`` if the nested values `one` and `two` differ."""
    found = difference(one, two)
    required(found is None, f"{what} differ at {found}")


def difference(one: object, two: object) -> str | None:
    """Return where two nested values first differ and how, or ``None``; NaN equals NaN."""
    one, two = (dict(enumerate(value)) if isinstance(value, (list, tuple)) else value for value in (one, two))
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        for key in {**one, **two}:
            if key not in one or key not in two:
                return f"{key}: missing in the {'first' if key in two else 'second'}"
            if (found := difference(one[key], two[key])) is not None:
                return f"{key}, {found}"
        return None
    a, b = np.asarray(one), np.asarray(two)
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return f"the type: {a.dtype} {a.shape} and {b.dtype} {b.shape}"
    unequal = np.argwhere(~((a == b) | ((a != a) & (b != b))))
    if not len(unequal):
        return None
    index = tuple(unequal[0].tolist())
    return f"{f'entry {index}' if index else 'the value'}: {a[index]!r} and {b[index]!r}"


# -- playing --------------------------------------------------------------------------------------------------


def trace(env: Env, team: Team, seeds: int | Seeds, rounds: float = math.inf, pickled: int = 0) -> Trace:
    """Play phase by phase; return actions, messages, own rewards and inboxes by round, and the final metrics.

    At most `rounds` are played; in the first `pickled` ones env, team and observation are pickled after each phase.
    """
    cls, seen = written(team), Trace()

    def after(obs: Observation) -> tuple:
        return pickle.loads(pickle.dumps((env, team, obs))) if len(seen) < pickled else (env, team, obs)

    with calling(cls, "reset"):
        obs = begin(env, team, seeds)
    while obs.running.any() and len(seen) < rounds:
        at, live, who = f"round {len(seen) + 1}", obs.running.copy(), obs.active_agents.copy()
        with calling(cls, "act", at):
            action = team.act(obs)
            env, team, obs = after(env.pull(action))
        parts = action if isinstance(action, tuple) else (action,)
        done = {f"act {name}": np.array(part) for name, part in zip(env.actions, parts, strict=True)}
        stated = {} if obs.reward is None else {"own reward": obs.reward.copy()}  # None: withheld
        for value in stated.values():
            check_paid(f"{type(env).__name__}, {at}", value, env)
        with calling(cls, "compose", at):
            message = team.compose(obs.reward)
            said: Message = {}
            # None is the default message; an agent that is not named as silent sends one.
            if env.message_class.identified_senders:
                said = env.standard_report() if message is None else message
                said = {"sent": np.ones(who.shape, bool), **said}
            if "reward" in said:
                sent = np.asarray(said["sent"], bool)
                check_paid(f"{cls.__name__}.compose, {at}", np.asarray(said["reward"])[sent], env)
            done |= {f"say {name}": np.array(value) for name, value in said.items()}
            env, team, obs = after(env.communicate(message))
        inbox = obs.inbox
        assert inbox is not None
        with calling(type(env), "communicate", at):
            check_inbox(inbox, env.inbox_fields, env.n_arms)
        with calling(cls, "receive", at):
            team.receive(inbox)
        for value in done.values():
            value[~live] = 0  # values of ended runs are not used
        stated |= {f"own {field}": value.copy() for field, value in inbox.own.items()}
        heard = {"arrived": inbox.arrived.copy(), **{field: np.array(inbox[field]) for field in inbox.fields}}
        seen[at] = {"running": live, "active_agents": who, **done, **stated, **heard}
    seen["metrics"] = env.metrics()
    if not obs.running.any():
        with calling(cls, "metrics"), revealed(env) as its:
            its_own = team.metrics(its)
        check_metrics(cls, its_own, env.runs, taken=seen["metrics"])
        seen["metrics"] |= its_own
    return seen


def written(team: Team) -> type:
    """Return the class of a team, or the single-agent class that `PerAgent` lifts to this team."""
    factory: object = team.factory if isinstance(team, PerAgent) else type(team)
    return factory if isinstance(factory, type) else PerAgent


@contextmanager
def calling(cls: type, hook: str, when: str = "") -> Iterator[None]:
    """Turn an error of a hook into an ``AssertionError`` that names the class, the hook and the round."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{cls.__name__}.{hook}{when and f', {when}'}: {words(error)}") from error


def check_paid(whose: str, reward: Array, env: Env) -> None:
    """Raise ``AssertionError`` if an observed reward lies outside the declared range."""
    low, high = env.own_reward_fields.get("reward", Field()).range
    beyond = reward[(reward < low) | (reward > high)]
    required(not beyond.size, f"{whose}: reward {beyond[:1]} is outside the range of the arms, {low:g} to {high:g}")


def check_inbox(inbox: Inbox, fields: Fields, n_arms: int) -> None:
    """Raise ``ValueError`` unless an inbox has the declared fields, with finite values of their shapes."""
    if {*inbox.fields} != {*fields}:
        raise ValueError(f"the inbox has the fields {inbox.fields}, but {(*fields,)} are declared")
    for name, field in fields.items():
        if name != "users":  # as many as there are, then NaN
            form = Field(field.sized(n_arms).shape)  # a decoded sum may have another dtype than its messages
            checked(name, np.asarray(inbox[name], float), form, inbox.arrived.shape, "the inbox")


# -- checks of a class ----------------------------------------------------------------------------------------


def check_hooks(cls: type, base: type, hooks: Collection[str]) -> None:
    """Raise ``AssertionError`` if a method's name resembles a hook that the class lacks.

    Methods of `base`, which declares the contract, are no misspellings; `hooks` are the methods that are called.

    Examples
    --------
    >>> class Deaf(Team):
    ...     def recieve(self, inbox): ...
    >>> check_hooks(Deaf, Team, ("act", "compose", "receive"))
    Traceback (most recent call last):
        ...
    AssertionError: Deaf.recieve is never called; the hook is receive
    """
    own = {name: value for c in cls.__mro__ if c not in base.__mro__ for name, value in vars(c).items()}
    for name, value in own.items():
        if not callable(value) or name.startswith("_") or name in hooks:
            continue
        if hasattr(base, name):
            data = not callable(getattr(base, name)) and not isinstance(getattr(base, name), property)
            required(not data, f"{cls.__name__}.{name} is a method, but {name} of {base.__name__} is an attribute")
            continue
        near = difflib.get_close_matches(name.lower(), [hook for hook in hooks if hook not in own], 1, 0.75)
        required(not near, f"{cls.__name__}.{name} is never called; the hook is {''.join(near)}")


@contextmanager
def remembering(cls: type) -> Iterator[None]:
    """Raise ``AssertionError`` if attributes of the class `cls` change inside the block."""
    before = _data(cls)
    yield
    for name, value in _data(cls).items():
        alike = before.get(name) == value
        required(alike, f"{name} is a class attribute and changed during a run; keep state in self, set in reset")


def _data(cls: type) -> dict[str, str]:
    with np.printoptions(threshold=2**62, floatmode="unique"):
        found = {f"{c.__name__}.{name}": repr(value) for c in cls.__mro__ for name, value in vars(c).items()}
    return {name: value for name, value in found.items() if ".__" not in name}


def check_promises(cls: type, env: Env, who: GuaranteeSource) -> None:
    """Raise ``AssertionError`` if a guarantee that `who` claims is incomplete.

    A class that adds noise or has an ε must define ``claimed_guarantees``.
    """
    whose = f"{cls.__name__}.claimed_guarantees"
    with calling(cls, "claimed_guarantees"):
        who.guarantees(env)  # raises unless it is a tuple of guarantees
        for guarantee in who.claimed_guarantees(env):
            for name in ("mechanism", "view", "source"):
                required(bool(getattr(guarantee, name).strip()), f"{whose} leaves {name} empty")
    if type(who).claimed_guarantees is GuaranteeSource.claimed_guarantees:
        known = isinstance(who, Team) and env.guarantees()
        has = getattr(who, "epsilon", None) is not None or "epsilon" in parameters(cls)
        noises = "adds noise" if "add" in getattr(who, "operations", ()) else "has an epsilon" * (has and not known)
        required(not noises, f"{whose} is not defined, but {cls.__name__} {noises}: return its Guarantee, or ()")


def check_metrics(
    cls: type, metrics: Mapping[str, Array], runs: int, infinite: Collection[str] = (), taken: Collection[str] = ()
) -> None:
    """Raise ``AssertionError`` unless metrics are finite numbers with a row per run and a new name.

    Metrics in `infinite` may be ∞; `taken` are the names of existing metrics.
    """
    whose = f"{cls.__name__}.metrics"
    required(isinstance(metrics, Mapping), f"{whose} must return a dict of arrays by name, not {metrics!r}")
    for name, value in metrics.items():
        array = np.asarray(value)
        required(name not in taken, f"{whose}: {name!r} is the name of another metric; rename it")
        allowed = array.dtype.kind in "biuf" and array.shape[:1] == (runs,)
        required(allowed, f"{whose}: {name!r} must be numbers of shape ({runs}, …), not {array.dtype} {array.shape}")
        bad = np.isnan(array) if name in infinite else ~np.isfinite(array)
        required(not bad.any(), f"{whose}: {name!r} must be finite numbers, not {array[bad][:1]}")


# -- checks of a run ------------------------------------------------------------------------------------------


def check_games(
    cls: type,
    builds: Iterable[Built],
    seed: int,
    who: Callable[[Env, Team], GuaranteeSource],
    named: bool,
    watch: Callable[[Env], None] = lambda core: None,
) -> None:
    """Raise ``AssertionError`` unless a class passes all checks in every env in which it was built.

    The checks cover determinism, batch invariance, reset and guarantees; a class that can be imported by name is
    pickled too.
    """

    def watched(build: Built, runs: int) -> tuple[Env, Team]:
        core, team = build(runs)
        watch(core)
        return core, team

    with remembering(cls):
        for build in builds:
            core, team = build(1)
            check_promises(cls, core, who(core, team))
            # a number of runs that differs from all other sizes, so that no axis can be mistaken for another
            runs = next(n for n in range(2, 5) if n not in (core.n_agents, core.n_arms))
            check_rows(partial(watched, build), spawn_seeds(seed, runs), cls.__name__)
            if named:
                check_pickle(build)


def check_rows(build: Built, seeds: Seeds, whose: str = "a game", rounds: float = math.inf) -> None:
    """Raise ``AssertionError`` unless runs are deterministic and a single run equals its row of a batch."""

    def play(used: bool) -> Trace:
        game = build(len(seeds))
        if used:
            trace(*game, spawn_seeds(7, len(seeds)), rounds)
        return trace(*game, seeds, rounds)

    batch = repeatable(play, whose)
    for r in range(len(seeds)):
        alone = trace(*build(1), seeds[r : r + 1], rounds)
        same(_row(alone, 0), _row(batch, r), f"{whose}: run {r} alone and its row of a batch")


def _row(game: Trace, r: int) -> dict[str, object]:
    """Return the trace of run `r` until the run ends, without padded slots of inboxes."""
    row: dict[str, object] = {}
    for at, stated in game.items():
        if at == "metrics":
            row[at] = {name: value[r] for name, value in stated.items()}
        elif stated["running"][r]:
            slots = int((np.flatnonzero(stated["arrived"][r].any(0)) + 1).max(initial=0))
            whole = {"running", "active_agents", *(name for name in stated if " " in name)}
            row[at] = {name: value[r] if name in whole else value[r][:, :slots] for name, value in stated.items()}
    return row


def check_pickle(build: Built) -> None:
    """Raise ``AssertionError`` unless a run continues unchanged if env and team are pickled in its first rounds."""
    one, two = (trace(*build(2), 7, PICKLED, pickled) for pickled in (0, FIRST))
    same(one, two, "a run that is pickled after every phase and a run that is not")


# -- envs to play in ------------------------------------------------------------------------------------------


def grounds(
    make: Callable[[], Team], env_id: AnyEnv | None, env: Params | None, wrappers: Sequence[AnyWrapper]
) -> list[Built]:
    """Return, for each setting in which a team can play, a function that builds env and team for a number of runs.

    Without an id the envs of the registry are tried, with a short horizon unless one is given.  ``ValueError``: the
    team can play in none of them; the message gives the last error.
    """
    found: dict[str, Built] = {}
    refusal: Exception | None = None
    for id in list_envs() if env_id is None else [env_id]:
        short = {"horizon": ROUNDS} if takes(id, "horizon") else {}
        build = partial(built, make, id, {**short, **(env or {})}, wrappers)
        try:
            found.setdefault(build(2)[0].setting, build)
        except (ValueError, TypeError) as error:
            refusal = error
    if not found:
        raise ValueError(f"no env accepts the class to check: {refusal}")
    return [*found.values()]


def built(
    make: Callable[[], Team], env_id: AnyEnv, env: Params, wrappers: Sequence[AnyWrapper], runs: int
) -> tuple[Env, Team]:
    """Return a compatible env and team for `runs` runs, with the env built by `assemble`."""
    team = make()
    with warnings.catch_warnings():  # votes cannot remove an arm in so short a run
        warnings.simplefilter("ignore")
        core = assemble(env_id, team, runs=runs, env=copy.deepcopy(env), wrappers=copy.deepcopy(wrappers))
        check_compatible(core, team)
    return core, team
