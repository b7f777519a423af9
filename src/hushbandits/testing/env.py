"""The checker `check_env` for parallel envs, which also runs the tests of PettingZoo."""

import contextlib
import copy
import io
import pickle
import pkgutil
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv
from pettingzoo.test import parallel_api_test

from hushbandits.core import Env, Params, Space, integer, spawn_seeds
from hushbandits.core.validation import stacked
from hushbandits.registry import make_team, takes
from hushbandits.testing.games import FIRST, built, calling, check_rows, difference, repeatable, required, same

#: Steps after which an episode is cut if it has not ended, and the horizon of an env without one.
STEPS, ROUNDS = 60, 12
#: ``policy(agent, observation, space)`` → an action; the space is a seeded copy of the agent's space.
Actor = Callable[[str, object, Space], object]
Built = Callable[[], ParallelEnv]
#: All observations, rewards and flags, by step.
Seen = dict[str, Params]
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
    """Raise ``AssertionError``, with the step and the agent, if a parallel env violates its contract.

    Episodes are played several times, each to its end or for `steps` steps.  The checks are:

    * PettingZoo's ``parallel_api_test``, which uses assertions that ``python -O`` turns off; all other checks run in
      any case;
    * every agent has separate spaces; every observation lies in its space; rewards are finite floats; flags are bools;
      no agent leaves before the joint end; returned values are not changed later; ``state()`` lies in ``state_space``;
    * the seed determines the whole episode, independent of the global random generators, which stay unchanged; other
      seeds, and no seed, give other episodes;
    * episodes are independent: the second one of an env equals the first one of a fresh env;
    * an env that is pickled in mid-episode continues unchanged;
    * a view of a batched env, stepped phase by phase, equals its row there: rewards, inbox slots and metrics.

    Parameters
    ----------
    env : str, class, ParallelEnv, or callable
        An id, ``"my_module:MyEnv"`` or an `Env` class; a *fresh* env (it is copied, not played); or a function that
        builds one.
    seed : int
        First seed; further episodes use the next seeds.
    policy : callable, optional
        Policy of the agents; default: they sample their action spaces.
    random_rewards : bool
        Set to false for a deterministic env: then different seeds may give equal episodes.
    steps : int
        Number of steps after which an episode is cut.
    **kwargs
        Parameters of the env, for an id or a class.  An env that takes a ``horizon`` gets twelve rounds if none is
        given.

    Examples
    --------
    >>> check_env("CoopNetwork-v0", n_agents=4, horizon=10)
    """
    steps = integer("steps", steps, 1)
    build = _builder(env, kwargs)
    actor = policy or (lambda agent, observation, space: space.sample())
    play = partial(_episode, steps=steps, policy=actor)

    def again(used: bool) -> Seen:
        env = build()
        if used:
            play(env, seed + 1)
        return play(env, seed)

    _check_api(build(), steps)
    first = repeatable(again, "the env")
    for seeds in (range(seed, seed + 4), (None,) * 3) if random_rewards else ():
        one, *others = (play(build(), s) for s in seeds)
        varied = any(difference(one, other) is not None for other in others)
        required(varied, f"{len(seeds)} episodes under seeds {[*seeds]} are the same: the env ignores its seed")
    pickled = play(build(), seed, pickled=FIRST)
    same(first, pickled, "an episode that is pickled before each step: pickling loses something, or")
    view = build().unwrapped
    if isinstance(getattr(view, "core", None), Env):
        _check_row(view, [*play(view, seed).values()][1:], seed)
        if view.core.spec is not None:
            id, given, wrappers = view.core.spec
            # `Random` says the report alone
            given = {name: value for name, value in given.items() if name != "extra_fields"}
            game = partial(built, partial(make_team, "Random"), id, given, wrappers)
            check_rows(game, spawn_seeds(seed, 3), rounds=steps)


def _builder(env: str | type[Env] | ParallelEnv | Built, kwargs: Params) -> Built:
    if isinstance(env, str) or (isinstance(env, type) and issubclass(env, Env)):
        short = {"horizon": ROUNDS} if takes(env, "horizon") else {}
        make = pkgutil.resolve_name("hushbandits.adapters.make:make")  # by name: a view may use the checker
        return partial(make, env, **{**short, **kwargs})
    if kwargs:
        raise TypeError(f"parameters ({', '.join(kwargs)}) need an id or a class, not an env instance")
    if isinstance(env, ParallelEnv):
        return partial(copy.deepcopy, copy.deepcopy(env))
    if callable(env):
        return env
    raise TypeError(f"env={env!r} must be an id, an Env class, a ParallelEnv, or a function that builds one")


def _episode(env: ParallelEnv, seed: int | None, steps: int, policy: Actor, pickled: int = 0) -> Seen:
    """Play at most `steps` steps of an episode, check each step, and return the actions and all returned values.

    Action spaces are seeded alike for every seed.  Before each of the first `pickled` steps the env is pickled.
    """
    own = {agent: copy.deepcopy(env.action_space(agent)) for agent in env.possible_agents}
    for m, space in enumerate(own.values()):
        space.seed(m)
    observations, infos = env.reset(seed=seed)
    _check_step(env, {"observations": observations}, "reset")
    seen: Seen = {"reset": copy.deepcopy({"observations": observations, "infos": infos})}
    while env.agents and len(seen) <= steps:
        at = f"step {len(seen)}"
        if len(seen) <= pickled:
            with calling(type(env), "__reduce__", at):
                env = pickle.loads(pickle.dumps(env))
        before = copy.deepcopy(observations)
        actions = {agent: policy(agent, observations[agent], space) for agent, space in own.items()}
        returned = dict(zip(_PARTS, env.step(actions), strict=True))
        same(before, observations, f"{at} wrote to what an earlier one had returned")
        observations = returned["observations"]
        _check_step(env, returned, at)
        seen[at] = copy.deepcopy({"actions": actions, **returned})
    return seen


def _check_api(env: ParallelEnv, steps: int) -> None:
    for kind in ("observation_space", "action_space"):
        own = [getattr(env, kind)(agent) for agent in env.possible_agents]
        what = f"two agents share one {kind}: it carries a generator, so each needs its own"
        required(len({*map(id, own)}) == len(own), what)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.filterwarnings("error", "Live agent was not|Agent was given|No agents present")
            parallel_api_test(env, steps)
    except (AssertionError, UserWarning) as error:
        line = traceback.extract_tb(error.__traceback__)[-1].line
        raise AssertionError(f"PettingZoo's parallel_api_test: {error or line}") from error


def _check_step(env: ParallelEnv, returned: Mapping[str, Mapping[str, object]], at: str) -> None:
    for agent in env.possible_agents:
        _check_member(env.observation_space(agent), returned["observations"][agent], f"{at}: what {agent} observes")
    if (space := getattr(env, "state_space", None)) is not None:
        _check_member(space, env.state(), f"{at}: state()")
    rewards, *flags = (returned.get(part, {}) for part in _PARTS[1:4])
    finite = np.isfinite(np.array([*rewards.values()], float))
    required(bool(finite.all()), f"{at}: rewards must be finite numbers, not {rewards}")
    kinds = {type(flag) for part in flags for flag in part.values()}
    required(kinds <= {bool, np.bool_}, f"{at}: flags must be bools, not {flags}")
    left = {agent for part in flags for agent, flag in part.items() if flag}
    required(len(left) in (0, len(rewards)), f"{at}: {sorted(left)} ended before the others; all must end together")


def _check_member(space: Space, value: object, what: str) -> None:
    if space.contains(value):
        return
    array = np.asarray(value)
    if isinstance(space, spaces.Box) and array.shape == space.shape:
        beyond = np.argwhere(~((array >= space.low) & (array <= space.high))).tolist()
        what += "".join(f", entry {at} of which is {array[*at]}," for at in beyond[:1])
    raise AssertionError(f"{what} lies outside its space {space}: dtype {array.dtype}, shape {array.shape}")


def _check_row(view: ParallelEnv, played: Sequence[Params], seed: int) -> None:
    """Replay a view's actions on its batched env; raise ``AssertionError`` if rewards or metrics differ from before."""
    row, names = copy.deepcopy(view.core).task(**view.options), list(view.possible_agents)
    row.reset(seed)
    for i, step in enumerate(played):
        phase = row.step if not view.two_phase else (row.pull, row.communicate)[i % 2]
        earned = phase(stacked(row.action_space, list(step["actions"].values()), names, (1, len(names))))[0]
        if step["terminations"][names[0]] or step["truncations"][names[0]]:
            earned = earned + row.final_reward()[0]
        paid = dict(zip(names, earned.tolist(), strict=True))
        same(paid, step["rewards"], f"step {i + 1}, {phase.__name__}: rewards of the row and of the view")
    same(row.core.metrics(), view.core.metrics(), "metrics of the row and of the view")
