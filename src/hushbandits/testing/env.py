"""A checker for parallel envs that goes further than PettingZoo's: whole episodes, and against the array core."""

from __future__ import annotations

import copy
import math
import numbers
import pickle
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from hushbandits.core.actions import Space
from hushbandits.core.env import Env
from hushbandits.core.ground.types import Array, Message, Params
from hushbandits.core.ground.validate import integer
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.registry import takes
from hushbandits.testing.seen import difference, globals_kept, repeatable, required, same, untouched

__all__ = ["Actor", "check_env"]

#: Steps after which an episode is cut, unless it has ended before, and the horizon of an env that is given none.
STEPS, ROUNDS = 60, 12
#: ``policy(agent, observation, space)`` → an action; the space is a seeded copy of the agent's own.
Actor = Callable[[str, object, Space], object]
Built = Callable[[], ParallelEnv]


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
    game = _Game(build, policy or (lambda agent, observation, space: space.sample()), steps)

    def guarded() -> _Trace:
        with untouched("the env"):
            return game.episode(build(), seed)

    with globals_kept():
        _check_spaces(build())
        first = repeatable(guarded, "the same seed", "the env draws from a global generator, or")
        used = build()
        game.episode(used, seed + 1)
        again = game.episode(used, seed)
        same(first, again, "a second episode against the first of a fresh env: the env remembers, or")
        if random_rewards:
            _check_luck(build, seed, first)
        _check_pickle(game, seed, first)
        if isinstance(getattr(build().unwrapped, "core", None), Env):
            _check_row(game, seed)


def _builder(env: str | type[Env] | ParallelEnv | Built, kwargs: Params) -> Built:
    if isinstance(env, str) or (isinstance(env, type) and issubclass(env, Env)):
        if takes(env, "horizon"):
            kwargs = {"horizon": ROUNDS, **kwargs}
        make = pkgutil.resolve_name("hushbandits.views.make:make")  # by name: a view may use the checker
        return lambda: make(env, **copy.deepcopy(kwargs))
    if kwargs:
        raise TypeError(f"parameters ({', '.join(kwargs)}) go with an id, not with an env that is built already")
    if isinstance(env, ParallelEnv):
        fresh = copy.deepcopy(env)
        return lambda: copy.deepcopy(fresh)
    if callable(env):
        return env
    raise TypeError(f"env={env!r} must be an id, a pettingzoo.ParallelEnv, or a function that builds one")


# -- episodes ---------------------------------------------------------------------------------------------------


#: All that was seen, by step.
_Trace = dict[str, Mapping[str, object]]
_PARTS = ("observations", "rewards", "terminations", "truncations", "infos")


def _spaces(env: ParallelEnv, seed: int) -> dict[str, Space]:
    """Seeded copies of the agents' action spaces."""
    own = {agent: copy.deepcopy(env.action_space(agent)) for agent in env.possible_agents}
    for m, space in enumerate(own.values()):
        space.seed(seed + m)
    return own


@dataclass(frozen=True)
class _Game:
    """An env, who plays it, and after how many steps an episode is cut."""

    build: Built
    policy: Actor
    steps: int

    def act(self, env: ParallelEnv, observations: Mapping[str, object], own: Mapping[str, Space]) -> dict[str, object]:
        return {agent: self.policy(agent, observations[agent], own[agent]) for agent in env.agents}

    def episode(self, env: ParallelEnv, seed: int, pickle_at: int | None = None) -> _Trace:
        """Play one episode, or its first steps, checking every step; return all that was seen."""
        own = _spaces(env, seed)
        observations, infos = env.reset(seed=seed)
        everyone = list(env.agents)
        required(
            everyone == list(env.possible_agents), f"after reset agents are {everyone}, not all of possible_agents"
        )
        required(isinstance(infos, dict) and set(infos) >= set(everyone), "reset must return infos for all agents")
        _check_observations(env, observations, everyone, "reset")
        trace: _Trace = {"reset": copy.deepcopy({"observations": observations, "infos": infos})}
        while env.agents and len(trace) <= self.steps:
            at = f"step {len(trace)}"
            if pickle_at == len(trace):
                env = pickle.loads(pickle.dumps(env))
            before = copy.deepcopy(observations)
            actions = self.act(env, observations, own)
            returned = env.step(actions)
            same(before, observations, f"{at} wrote to what an earlier one had returned")
            _check_returns(env, returned, everyone, at)
            observations = returned[0]
            _check_observations(env, observations, everyone, at)
            trace[at] = copy.deepcopy({"actions": actions, **dict(zip(_PARTS, returned, strict=True))})
        return trace


def _check_spaces(env: ParallelEnv) -> None:
    agents = list(env.possible_agents)
    required(len(agents) > 0 and len(set(agents)) == len(agents), f"possible_agents={agents} must be distinct names")
    for kind in ("observation_space", "action_space"):
        own = [getattr(env, kind)(agent) for agent in agents]
        for agent, space in zip(agents, own, strict=True):
            required(isinstance(space, spaces.Space), f"{kind}({agent!r}) is no gymnasium space: {space!r}")
            required(getattr(env, kind)(agent) is space, f"{kind}({agent!r}) returns another object at each call")
        required(
            len({id(space) for space in own}) == len(own),
            f"two agents share one {kind}: it carries a generator, so each needs its own",
        )


def _check_observations(env: ParallelEnv, observations: object, everyone: list[str], at: str) -> None:
    for agent, observation in _dict_of(everyone, observations, f"{at}: observations").items():
        _check_member(env.observation_space(agent), observation, f"{at}: the observation of {agent}")
    if getattr(env, "state_space", None) is not None:
        _check_member(env.state_space, env.state(), f"{at}: state()")


def _dict_of(everyone: list[str], part: object, what: str) -> Mapping[str, object]:
    if not isinstance(part, dict) or not set(part) >= set(everyone):
        raise AssertionError(f"{what} must be a dict of all agents")
    return part


def _check_member(space: Space, value: object, what: str) -> None:
    if isinstance(space, spaces.Box):
        if not isinstance(value, np.ndarray):
            raise AssertionError(f"{what} is a {type(value).__name__}, not an array")
        required(value.dtype == space.dtype, f"{what} has dtype {value.dtype}, its space {space.dtype}")
        required(value.shape == space.shape, f"{what} has shape {value.shape}, its space {space.shape}")
        outside = np.argwhere(~((value >= space.low) & (value <= space.high)))
        if len(outside):
            index = tuple(outside[0].tolist())
            low, high = space.low[index], space.high[index]
            entry = f"entry {index} is {value[index]}, not in [{low}, {high}]"
            raise AssertionError(f"{what} lies outside its space: {entry}")
    required(space.contains(value), f"{what} lies outside its space {space}: {value!r}")


def _check_returns(env: ParallelEnv, returned: object, everyone: list[str], at: str) -> None:
    if not isinstance(returned, tuple) or len(returned) != 5:
        raise AssertionError(f"{at} must return five dicts")
    named = zip(_PARTS, returned, strict=True)
    _, rewards, terminations, truncations, _ = (_dict_of(everyone, part, f"{at}: {name}") for name, part in named)
    for agent in everyone:
        reward = rewards[agent]
        required(
            isinstance(reward, numbers.Real) and math.isfinite(reward),
            f"{at}: the reward of {agent} is {reward!r}, not a finite number",
        )
        for flags in (terminations, truncations):
            required(
                isinstance(flags[agent], (bool, np.bool_)), f"{at}: flags of {agent} must be bools: {flags[agent]!r}"
            )
    left = {agent for agent in everyone if terminations[agent] or truncations[agent]}
    required(len(left) in (0, len(everyone)), f"{at}: {sorted(left)} left before the joint end")
    required(list(env.agents) == ([] if left else everyone), f"{at}: agents={env.agents} contradicts the flags")


# -- promises -----------------------------------------------------------------------------------------------------


def _check_luck(build: Built, seed: int, first: _Trace) -> None:
    # The same actions throughout, so that only the env can make the difference.
    played = [seen["actions"] for at, seen in first.items() if at != "reset"]

    def vary(seeds: list[int | None]) -> bool:
        one = _replayed(build(), seeds[0], played)
        return any(difference(one, _replayed(build(), other, played)) is not None for other in seeds[1:])

    required(
        vary([seed, seed + 1, seed + 2, seed + 3]),
        f"seeds {seed}..{seed + 3} give the same episode: the env ignores its seed",
    )
    required(
        vary([None, None, None]),
        "three resets without a seed give the same episode: the env falls back to a fixed seed",
    )


def _replayed(env: ParallelEnv, seed: int | None, played: list[object]) -> list[object]:
    trace: list[object] = [copy.deepcopy(env.reset(seed=seed))]
    for actions in played:
        if env.agents:
            trace.append(copy.deepcopy(env.step(actions)))
    return trace


def _check_pickle(game: _Game, seed: int, first: _Trace) -> None:
    middle = max(1, len(first) // 2)
    try:
        again = game.episode(game.build(), seed, pickle_at=middle)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AssertionError(f"the env cannot be pickled in mid-episode: {error}") from error
    same(first, again, f"an episode pickled before step {middle}: pickling loses something, or")


def _check_row(game: _Game, seed: int) -> None:
    """Step a view beat by beat, and a row of the core with a task of its own next to it."""
    view = game.build().unwrapped
    row = copy.deepcopy(view.core).task(**view.options)
    view.beats, view.max_cycles = 2, None
    heard: list[Obs] = []
    talk = view.core.talk

    def overheard(message: Message | None = None) -> Obs:
        heard.append(talk(message))
        return heard[-1]

    view.core.talk = overheard
    own = _spaces(view, seed)
    observations, _ = view.reset(seed=seed)
    row.reset(seed)
    names, at = list(view.agents), 0
    while view.agents and at < game.steps:
        at += 1
        arms = game.act(view, observations, own)
        observations, paid, *_ = view.step(arms)
        required(view.agents, f"round {at}: the view ended between the beats")
        earned = row.pull(row.read(list(arms.values()), names))[0]
        same(_each(names, earned), paid, f"round {at}: rewards after the pull: row and view")
        words = game.act(view, observations, own)
        observations, paid, *_ = view.step(words)
        earned = row.talk(row.read(list(words.values()), names))[0]
        if not row.obs.live[0]:
            earned = earned + row.final_reward()[0]
        same(_slots(row.obs.inbox), _slots(heard[-1].inbox), f"round {at}: the inbox: row and view")
        same(row.core.metrics(), view.core.metrics(), f"round {at}: metrics: row and view")
        same(_each(names, earned), paid, f"round {at}: rewards after the talk: row and view")
    required(bool(view.agents) or not row.core.live.any(), f"round {at}: the view ended, its row goes on")


def _each(names: list[str], earned: Array) -> dict[str, float]:
    return {name: float(x) for name, x in zip(names, earned, strict=True)}


def _slots(inbox: Inbox | None) -> dict[str, object]:
    """Every slot of an inbox, and the sums over it where there are any."""
    assert inbox is not None
    seen: dict[str, object] = {
        "arrived": inbox.arrived,
        **{field: inbox[field] for field in inbox.fields if field != "tally"},
    }
    try:
        return {**seen, "tally": inbox.tally()}
    except ValueError:  # it has none
        return seen
