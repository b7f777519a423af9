"""Playing by hand, and watching."""

import numpy as np

import hushbandits as hb
from hushbandits.registry import assemble, takes


def trace(env, team, seeds):
    """Play by the beats; every reward, every inbox slot, every acting agent, and the final metrics."""
    hb.meet(env, team)
    obs = env.reset(seeds)
    team.reset(env, env.seeds)
    rounds = []
    while obs.live.any():
        before = {"live": obs.live.copy(), "who": obs.who.copy()}
        obs = env.pull(team.act(obs))
        if obs.reward is not None:  # else withheld
            before["own reward"] = obs.reward.copy()
        obs = env.talk(team.speak(obs.reward))
        before["arrived"] = obs.inbox.arrived.copy()
        for field, value in obs.inbox.own.items():
            before[f"own {field}"] = value.copy()
        for field in obs.inbox.fields:
            before[field] = np.array(obs.inbox[field])
        team.hear(obs.inbox)
        rounds.append(before)
    return rounds, env.metrics()


def arms_pulled(env, team, seeds, look=lambda: None):
    """Play by the beats; the arms of every round, (R, T, M)."""
    hb.meet(env, team)
    obs, arms = env.reset(seeds), []
    team.reset(env, env.seeds)
    while obs.live.any():
        arms.append(team.act(obs).copy())
        obs = env.pull(arms[-1])
        obs = env.talk(team.speak(obs.reward))
        team.hear(obs.inbox)
        look()
    return np.stack(arms, 1)


def build(env_id, agent, runs, env=None, agent_kwargs=None, wrappers=()):
    """An env and a team; arms stand in the order given, as naive twins know them."""
    team = hb.make_team(agent, **(agent_kwargs or {}))
    order = {"permute_arms": False} if takes(env_id, "permute_arms") else {}
    return assemble(env_id, team, runs=runs, env={**order, **(env or {})}, wrappers=wrappers), team


def same_row(single, batch, r):
    """Whether the run that is alone in `single` equals row r of `batch`, slot by slot."""
    (alone, alone_metrics), (rows, metrics) = single, batch
    for one, many in zip(alone, rows, strict=False):
        assert many["live"][r]
        for key, value in one.items():
            row = many[key][r : r + 1]
            if value.shape != row.shape:  # slots are padded to the widest run of the batch
                width = value.shape[2]
                assert not many["arrived"][r, :, width:].any()
                row = row[:, :, :width]
            np.testing.assert_array_equal(value, row, err_msg=key)
    assert len(alone) == len(rows) or not rows[len(alone)]["live"][r]
    for key, value in alone_metrics.items():
        np.testing.assert_array_equal(value[0], metrics[key][r], err_msg=key)


def equal(one, two, what=""):
    """Whether two dicts of arrays are the same."""
    assert one.keys() == two.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, two[name], err_msg=f"{what} {name}")


def act(env):
    """A random action for every agent of a PettingZoo env."""
    return {agent: env.action_space(agent).sample() for agent in env.agents}
