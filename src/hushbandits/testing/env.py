"""A checker for parallel envs that goes further than PettingZoo's: whole episodes, and against the array core."""

from __future__ import annotations

import copy
import math
import numbers
import pickle
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeGuard

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from hushbandits.core import Params, integer
from hushbandits.core.env import Env
from hushbandits.core.luck.tapes import run_seeds
from hushbandits.core.task import Space
from hushbandits.registry import AnyWrapper, make_team, takes
from hushbandits.testing.compare import difference, repeatable, required, same
from hushbandits.testing.games import check_rows, grounds

#: Steps after which an episode is cut, unless it has ended before, and the horizon of an env that is given none.
STEPS, ROUNDS = 60, 12
#: ``policy(agent, observation, space)`` → an action; the space is a seeded copy of the agent's own.
Actor = Callable[[str, object, Space], object]
Built = Callable[[], ParallelEnv]
#: All that was seen, by step.
Seen = dict[str, Mapping[str, Any]]
#: From everybody's observations to their actions.
Acting = Callable[[Mapping[str, object]], dict[str, object]]
#: Parameters that stand between an env and who plays it.
_AROUND = ("wrappers", "speech")
_PARTS = ("observations", "rewards", "terminations", "truncations", "infos")


def check_env(
    env: str | type[Env] | ParallelEnv | Built,
    *,
    seed: int = 0,
    policy: Actor | None = None,
    random_rewards: bool = True,
    steps: int = STEPS,
    **kwargs: object,
) -> None:
    """Raise ``AssertionError``, with the step and the agent, unless a parallel env keeps its promises.

    Episodes are played several times, each to its end or for `steps` steps.  What is checked:

    * the API: every agent's spaces are its own and stay the same objects; every observation is an array of its
      space's dtype and lies in it; rewards are finite floats; flags are bools; nobody leaves before the joint end;
      what was returned is not written to later; ``state()`` lies in ``state_space``;
    * the seed decides the whole episode, whatever the global random generators hold, and leaves them alone; other
      seeds, and no seed, give other episodes;
    * an episode remembers nothing: the second one of an env equals the first one of a fresh env;
    * an env that is pickled in mid-episode goes on as if nothing had happened;
    * for a view of an array core: stepped beat by beat it equals its row of the core, reward for reward, inbox slot
      for inbox slot, metric for metric.

    Parameters
    ----------
    env : str, class, ParallelEnv, or callable
        An id, ``"my_module:MyEnv"`` or an `Env` class; a *fresh* env (it is copied, not played); or a function that
        builds one.
    seed : int
        Episodes are played under `seed` and a few seeds after it.
    policy : callable, optional
        How agents act; by default they sample their action spaces.
    random_rewards : bool
        Set to false for an env without luck: then seeds need not make a difference.
    steps : int
        After how many steps an episode is cut that goes on.
    **kwargs
        For an id or a class: parameters of the env.
        One that takes a ``horizon`` and is given none plays twelve rounds.

    Examples
    --------
    >>> check_env("CoopNetwork-v0", n_agents=4, horizon=10)
    """
    steps = integer("steps", steps, 1)
    build = _builder(env, kwargs)
    actor = policy or (lambda agent, observation, space: space.sample())

    def play(env: ParallelEnv, seed: int, pickle_at: int = 0) -> Seen:
        return _episode(env, seed, steps, _acting(actor, env, seed), pickle_at)

    _check_spaces(build())
    first = repeatable(lambda: play(build(), seed), "the env")
    used = build()
    play(used, seed + 1)
    same(first, play(used, seed), "a second episode against the first of a fresh env: the env remembers, or")
    if random_rewards:
        _check_luck(build, seed, [seen["actions"] for at, seen in first.items() if at != "reset"])
    middle = max(1, len(first) // 2)
    try:
        again = play(build(), seed, middle)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AssertionError(f"the env cannot be pickled in mid-episode: {error}") from error
    same(first, again, f"an episode pickled before step {middle}: pickling loses something, or")
    if _is_core(env):
        given = {name: value for name, value in kwargs.items() if takes(env, name) and name not in _AROUND}
        wrappers: Sequence[AnyWrapper] = kwargs.get("wrappers", ())  # type: ignore[assignment]
        for game in grounds(partial(make_team, "Random"), env, given, wrappers):
            check_rows(game, run_seeds(seed, 3))
    if isinstance(getattr(build().unwrapped, "core", None), Env):
        _check_row(build().unwrapped, actor, steps, seed)


def _is_core(env: object) -> TypeGuard[str | type[Env]]:
    """Whether it is an id or a class of an array core."""
    return isinstance(env, str) or (isinstance(env, type) and issubclass(env, Env))


def _builder(env: str | type[Env] | ParallelEnv | Built, kwargs: Params) -> Built:
    if _is_core(env):
        if takes(env, "horizon"):
            kwargs = {"horizon": ROUNDS, **kwargs}
        make = pkgutil.resolve_name("hushbandits.adapters.make:make")  # by name: a view may use the checker
        return lambda: make(env, **copy.deepcopy(kwargs))
    if kwargs:
        raise TypeError(f"parameters ({', '.join(kwargs)}) go with an id, not with an env that is built already")
    if isinstance(env, ParallelEnv):
        return partial(copy.deepcopy, copy.deepcopy(env))
    if callable(env):
        return env
    raise TypeError(f"env={env!r} must be an id, a pettingzoo.ParallelEnv, or a function that builds one")


# -- episodes ---------------------------------------------------------------------------------------------------


def _acting(policy: Actor, env: ParallelEnv, seed: int) -> Acting:
    """How all agents act, by seeded copies of their action spaces."""
    own = {agent: copy.deepcopy(env.action_space(agent)) for agent in env.possible_agents}
    for m, space in enumerate(own.values()):
        space.seed(seed + m)
    return lambda seen: {agent: policy(agent, seen[agent], space) for agent, space in own.items()}


def _episode(env: ParallelEnv, seed: int | None, steps: int, act: Acting, pickle_at: int = 0) -> Seen:
    """Play one episode, or its first steps, checking every step; return all that was seen."""
    observations, infos = env.reset(seed=seed)
    nothing = [dict.fromkeys(env.possible_agents, value) for value in (0.0, False, False)]
    _check_returned(env, (observations, *nothing, infos), "reset")
    seen: Seen = {"reset": copy.deepcopy({"observations": observations, "infos": infos})}
    while env.agents and len(seen) <= steps:
        at = f"step {len(seen)}"
        if pickle_at == len(seen):
            env = pickle.loads(pickle.dumps(env))
        before = copy.deepcopy(observations)
        actions = act(observations)
        returned = env.step(actions)
        same(before, observations, f"{at} wrote to what an earlier one had returned")
        _check_returned(env, returned, at)
        observations = returned[0]
        seen[at] = copy.deepcopy({"actions": actions, **dict(zip(_PARTS, returned, strict=True))})
    return seen


def _check_spaces(env: ParallelEnv) -> None:
    agents = list(env.possible_agents)
    required(len(agents) > 0 and len(set(agents)) == len(agents), f"possible_agents={agents} must be distinct names")
    for kind in ("observation_space", "action_space"):
        own = [getattr(env, kind)(agent) for agent in agents]
        for agent, space in zip(agents, own, strict=True):
            required(isinstance(space, spaces.Space), f"{kind}({agent!r}) is no gymnasium space: {space!r}")
            required(getattr(env, kind)(agent) is space, f"{kind}({agent!r}) returns another object at each call")
        what = f"two agents share one {kind}: it carries a generator, so each needs its own"
        required(len({*map(id, own)}) == len(own), what)


def _check_returned(env: ParallelEnv, returned: object, at: str) -> None:
    """What a step returned, or a reset as if it were one."""
    everyone = list(env.possible_agents)
    if not isinstance(returned, tuple) or len(returned) != 5:
        raise AssertionError(f"{at} must return five dicts")
    for name, part in zip(_PARTS, returned, strict=True):
        required(isinstance(part, dict) and {*part} >= {*everyone}, f"{at}: {name} must be a dict of all agents")
    observations, rewards, terminations, truncations, _ = returned
    for agent in everyone:
        _check_member(env.observation_space(agent), observations[agent], f"{at}: the observation of {agent}")
        reward, flags = rewards[agent], (terminations[agent], truncations[agent])
        finite = isinstance(reward, numbers.Real) and math.isfinite(reward)
        required(finite, f"{at}: the reward of {agent} is {reward!r}, not a finite number")
        bools = all(isinstance(flag, (bool, np.bool_)) for flag in flags)
        required(bools, f"{at}: flags of {agent} must be bools: {flags!r}")
    left = {agent for agent in everyone if terminations[agent] or truncations[agent]}
    required(len(left) in (0, len(everyone)), f"{at}: {sorted(left)} left before the joint end")
    required(list(env.agents) == ([] if left else everyone), f"{at}: agents={env.agents} contradicts the flags")
    if (space := getattr(env, "state_space", None)) is not None:
        _check_member(space, env.state(), f"{at}: state()")


def _check_member(space: Space, value: object, what: str) -> None:
    if isinstance(space, spaces.Box):
        if not isinstance(value, np.ndarray):
            raise AssertionError(f"{what} is a {type(value).__name__}, not an array")
        form = (value.dtype, value.shape)
        required(form == (space.dtype, space.shape), f"{what} has dtype {value.dtype} and shape {value.shape}: {space}")
        for index in map(tuple, np.argwhere(~((value >= space.low) & (value <= space.high))).tolist()):
            bounds = f"[{space.low[index]}, {space.high[index]}]"
            raise AssertionError(f"{what} lies outside its space: entry {index} is {value[index]}, not in {bounds}")
    required(space.contains(value), f"{what} lies outside its space {space}: {value!r}")


# -- promises -----------------------------------------------------------------------------------------------------


def _check_luck(build: Built, seed: int, played: list[dict[str, object]]) -> None:
    def replayed(seed: int | None) -> Seen:
        turns = iter(played)  # the same actions throughout, so that only the env can make the difference
        return _episode(build(), seed, len(played), lambda _: next(turns))

    def vary(*seeds: int | None) -> bool:
        one, *others = map(replayed, seeds)
        return any(difference(one, other) is not None for other in others)

    what = "give the same episode: the env"
    required(vary(*range(seed, seed + 4)), f"seeds {seed}..{seed + 3} {what} ignores its seed")
    required(vary(None, None, None), f"three resets without a seed {what} falls back to a fixed seed")


def _check_row(view: ParallelEnv, policy: Actor, steps: int, seed: int) -> None:
    """Step a view beat by beat, and a row of the core with a task of its own next to it."""
    row = copy.deepcopy(view.core).task(**view.options)
    view.beats, view.max_cycles = 2, None
    act, names = _acting(policy, view, seed), list(view.possible_agents)
    observations, _ = view.reset(seed=seed)
    row.reset(seed)
    for beat in range(2 * steps):
        if not view.agents:
            break
        at = f"round {beat // 2 + 1}: {'talk' if beat % 2 else 'pull'}"
        actions = act(observations)
        observations, paid, *_ = view.step(actions)
        stacked = row.read(list(actions.values()), names)
        earned = row.talk(stacked)[0] if beat % 2 else row.pull(stacked)[0]
        over = beat % 2 == 1 and not row.obs.live[0]
        required(bool(view.agents) != over, f"{at}: the view or its row ends, and the other goes on")
        if over:
            earned = earned + row.final_reward()[0]
        same(dict(zip(names, earned.tolist(), strict=True)), paid, f"{at}: rewards of the row and of the view")
        same(row.core.metrics(), view.core.metrics(), f"{at}: metrics of the row and of the view")
