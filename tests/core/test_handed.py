"""Returned arrays own their memory, and observations are read-only: no `.base` leads to the env's own arrays."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from kinds import each_once, one_per_class
from refusals import rows
from talk import NET, default_action

import hushbandits as hb
from hushbandits.core.team import EnvView
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle

ENVS = {
    **{env_id: (env_id, {}, []) for env_id in hb.list_envs()},
    "shuffled": ("CoopNetwork-v0", NET, [Shuffle()]),
    "flood": ("CoopNetwork-v0", {**NET, "edge_failure_prob": 0.1}, []),
    "states": ("CoopNetwork-v0", {**NET, "fields": {"x": hb.Field((2,), latest=True)}}, []),
    "state flood": ("CoopNetwork-v0", {**NET, "edge_failure_prob": 0.1, "fields": {"x": hb.Field(latest=True)}}, []),
    "gossip": ("CoopNetwork-v0", {**NET, "max_hops": 1}, []),
    "random graphs": ("CoopNetwork-v0", {**NET, "graph": "erdos-renyi", "edge_probability": 0.8}, []),
    "tree": ("CoopNetwork-v0", {**NET, "routing": "tree", "graph": "grid", "n_agents": 4}, []),
    "shuffled flood": ("CoopNetwork-v0", {**NET, "edge_failure_prob": 0.1}, [Shuffle()]),
    "sums": ("CoopNetwork-v0", NET, [SecAgg()]),
    "withheld": ("CoopNetwork-v0", NET, [LocalLaplace(1.0)]),
    "users": ("CentralDP-v0", {"simulate_users": "individual"}, []),
    "allow_vote_resets": ("DPMASE-v0", {"allow_vote_resets": True, "termination": "horizon", "horizon": 9}, []),
    "window": ("DPMASE-v0", {}, [SecAgg(batch_window=5)]),
}


def arrays(value, seen, name):
    """Return all arrays of an object, by their place."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, dict):
        for key, part in list(value.items()):
            yield from arrays(part, seen, f"{name}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from arrays(part, seen, f"{name}[{i}]")
    elif type(value).__module__.startswith("hushbandits") and not isinstance(value, type):
        for key in [*getattr(value, "__dict__", ()), *getattr(type(value), "__slots__", ())]:
            if hasattr(value, key):
                yield from arrays(getattr(value, key), seen, f"{name}.{key}")


def root(array):
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def owned(what, value, env):
    for name, array in value if isinstance(value, list) else [("", value)]:
        assert root(array).size <= array.size, f"{what}{name} leads to a larger array"
        for where, inner in arrays(env, {}, "env"):
            assert not np.shares_memory(array, inner), f"{what}{name} is {where}"


def offered(inbox):
    """Return everything that an inbox returns."""
    yield "arrived", inbox.arrived
    for field in (*inbox.fields, "tally", "users"):
        for name, read in (("[]", lambda f: inbox[f]), ("total", inbox.total)):
            try:
                yield f"{name} {field}", read(field)
            except (KeyError, ValueError):
                continue
    try:
        for part in inbox.tally():
            # Pulls and sums share memory: both belong to this inbox.
            yield "tally", np.array(part) if root(part).size == 2 * part.size else part
    except (KeyError, ValueError):
        pass
    for name in inbox.own:
        yield f"own {name}", inbox.own[name]


@pytest.mark.parametrize("case", ENVS)
def test_what_a_team_is_handed_owns_its_memory(case):
    env_id, kwargs, wrappers = ENVS[case]
    env = hb.make_batched(env_id, 2, wrappers=wrappers, **kwargs)
    face = EnvView(env)
    for obs in _game(env):
        for name in ("t", "running", "active_agents", "reward"):
            if getattr(obs, name) is not None:
                owned(f"obs.{name}", getattr(obs, name), env)
                assert not getattr(obs, name).flags.writeable, name
        for name in dir(face):
            value = getattr(face, name, None)
            if isinstance(value, np.ndarray):
                owned(f"face.{name}", value, env)
        if obs.inbox is not None:
            for name, value in offered(obs.inbox):
                owned(f"inbox {name}", value, env)
    if slots := getattr(face, "slots", None):
        for name, array in arrays(slots, {}, "slots"):
            assert not root(array).flags.writeable, name


PUBLIC = {"arrived", "at", "fields", "mix", "of", "own", "several", "tally", "total"}


@rows("case", ENVS)
def test_no_public_name_of_an_inbox_leads_behind_it(case):
    env_id, kwargs, wrappers = ENVS[case]
    *_, obs = _game(hb.make_batched(env_id, 2, wrappers=wrappers, **kwargs))
    inbox = obs.inbox
    assert {name for name in dir(inbox) if not name.startswith("_")} <= PUBLIC | {"arrivals", "decoded"}
    fields = inbox.fields
    with suppress(AttributeError):  # an added name gives access to nothing
        inbox.fields = (*fields, "sender")
    for field in ("sender", "code", "users", "ring", "sent"):
        if field not in fields:
            with pytest.raises((KeyError, ValueError)):
                inbox[field]
            with pytest.raises((KeyError, ValueError)):
                inbox.total(field)


def _game(env):
    yield env.reset(0)
    for _ in range(3):
        yield env.pull(_action(env))
        yield env.communicate(_words(env))


def _action(env):
    if getattr(env, "one_arm_per_step", False):
        return np.eye(1, env.n_arms, dtype=bool)[None].repeat(env.runs, 0)
    return default_action(env)


def _words(env):
    if {*env.fields} <= {*env.report}:
        return None
    return {k: np.zeros((*env.active_agents.shape, *f.shape), f.dtype) for k, f in env.fields.items()}


@each_once
@pytest.mark.parametrize("env_id", one_per_class(hb.list_envs()))
@pytest.mark.parametrize("two_phase", [False, True])
def test_a_learner_is_handed_nobody_elses_observation(env_id, two_phase):
    env = hb.make(env_id, two_phase=two_phase, **({} if "LTR" in env_id else {"n_agents": 36}))
    observations, infos = env.reset(seed=0)
    for _ in range(3):
        for agent, seen in observations.items():
            assert root(seen).size == seen.size
            mask = infos[agent].get("action_mask", ())
            for part in mask if isinstance(mask, tuple) else [mask]:
                assert part is None or root(part).size == part.size  # numbers have no mask
        observations, _, _, _, infos = env.step({a: env.action_space(a).sample() for a in env.agents})
