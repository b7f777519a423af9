"""The Gymnasium vector view: rows equal the batched env's runs, and episodes end independently."""

import numpy as np
import pytest
from gymnasium.wrappers import vector as wrappers
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import by_class
from small import small

import hushbandits as hb
from hushbandits.adapters.learners import learners_core
from hushbandits.adapters.make import make_vec
from hushbandits.core.messages import Field
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.secagg import SecAgg

VOTING = {"n_agents": 8, "n_arms": 3, "threshold": 1, "horizon": 12}
CASES = [
    *((env_id, small(env_id), ()) for env_id in hb.list_envs()),
    ("CoopNetwork-v0", {"n_agents": 4, "horizon": 5, "graph": "erdos-renyi", "edge_probability": 0.6}, ()),
    ("CoopNetwork-v0", {"n_agents": 3, "horizon": 5, "observe_messages": True}, (Huber(0.2), Loss(0.2))),
    ("CoopNetwork-v0", {"n_agents": 3, "horizon": 4, "extra_fields": {"bit": Field(dtype="?")}}, ()),
    ("CoopNetwork-v0", {"n_agents": 3, "horizon": 4, "extra_fields": {"code": Field((2,), "f4")}}, ()),
    ("DPMASE-v0", {**VOTING, "action_format": "multidiscrete"}, (Loss(0.3),)),
    ("DPMASE-v0", {**VOTING, "action_format": "native"}, (SecAgg(batch_window=3),)),
    ("DecentralizedExploration-v0", {**VOTING, "agent_id": True}, ()),
    ("LocalDP-v0", {"n_agents": 2, "horizon": 40, "cost_coefficients": {"epsilon": 0.1}}, (Loss(0.1),)),
]
by_case = [f"{i}-{id}" for i, (id, *_) in enumerate(CASES)]
TASK = ("action_format", "agent_id", "observe_messages", "cost_coefficients")


class Alone:
    """One run of the batched env, started with the seeds of a row of a view."""

    def __init__(self, id, kwargs, protocol, seed, row, runs):
        params = {k: v for k, v in kwargs.items() if k not in (*TASK, "extra_fields")}
        core = learners_core(id, 1, protocol, kwargs.get("extra_fields"), params)
        self.task = core.task(**{k: v for k, v in kwargs.items() if k in TASK})
        self.seed, self.row, self.episode = seed, row, 0
        self.start()

    def start(self):
        number = self.row + (self.episode << 32)
        self.episode += 1
        self.task.reset(spawn_seeds(self.seed, 1, number, self.task.core.seed_text))
        return self.task.observe()[0]

    def step(self, action):
        reward = self.task.step(action)
        over = not self.task.obs.running[0]
        if over:
            reward = reward + self.task.final_reward()[:, None]
        return self.task.observe()[0], reward[0], over, over and bool(self.task.solved()[0])


def of_run(env, actions, r):
    seats = slice(r * env.n_agents, (r + 1) * env.n_agents)
    return {k: v[None, seats] for k, v in actions.items()} if isinstance(actions, dict) else actions[None, seats]


def run_by_run(env, value):
    return value.reshape(env.runs, env.n_agents, *value.shape[1:])


@pytest.mark.parametrize(("env_id", "kwargs", "protocol"), by_class(CASES), ids=by_case)
def test_a_row_is_a_run_of_the_core_whatever_the_others_do(env_id, kwargs, protocol):
    runs, ends = 9 if "Train" in env_id else 3, 0  # from eight on, generators are data
    env = make_vec(env_id, runs, wrappers=protocol, **kwargs)
    alone = [Alone(env_id, kwargs, protocol, 5, r, runs) for r in range(runs)]
    seen, infos = env.reset(seed=5)
    np.testing.assert_array_equal(run_by_run(env, seen), [run.task.observe()[0] for run in alone])
    env.action_space.seed(1)
    for _ in range(40):
        actions = env.action_space.sample()
        seen, reward, terminated, truncated, infos = env.step(actions)
        assert env.observation_space.contains(seen)
        assert reward.dtype == float
        assert terminated.dtype == truncated.dtype == bool
        for r, run in enumerate(alone):
            after, paid, over, solved = run.step(of_run(env, actions, r))
            rows = slice(r * env.n_agents, (r + 1) * env.n_agents)
            np.testing.assert_array_equal(reward[rows], paid)
            assert (terminated[rows] == solved).all()
            assert (truncated[rows] == (over and not solved)).all()
            if over:
                ends += 1
                assert infos["_final_obs"][rows].all()
                np.testing.assert_array_equal(np.stack(infos["final_obs"][rows]), after)
                metrics = run.task.core.metrics()
                for name, value in metrics.items():
                    shown = infos["final_info"]["metrics"][name][rows]
                    np.testing.assert_array_equal(shown, np.broadcast_to(value[0], shown.shape))
                after = run.start()
            elif "final_obs" in infos:
                assert not infos["_final_obs"][rows].any()
                assert all(x is None for x in infos["final_obs"][rows])
            np.testing.assert_array_equal(seen[rows], after)
            np.testing.assert_array_equal(infos["action_mask"][rows], run.task.mask()[0])
    assert ends > runs


def test_with_a_seed_for_each_run_a_row_is_an_env_of_its_own():
    env = make_vec("CoopNetwork-v0", 3, n_agents=2, horizon=4)
    for seeds in ([4, 9, 4], np.array([4, 4, 9, 9, 4, 4])):
        seen, _ = env.reset(seed=seeds)
        alone = [hb.make("CoopNetwork-v0", n_agents=2, horizon=4) for _ in range(3)]
        first = [one.reset(seed=seed)[0].values() for one, seed in zip(alone, (4, 9, 4), strict=True)]
        np.testing.assert_array_equal(run_by_run(env, seen), list(map(list, first)))
        for step in range(6):
            _, reward, *_ = env.step(np.arange(6))
            for r, one in enumerate(alone):
                _, paid, *_ = one.step({"agent_0": 2 * r, "agent_1": 2 * r + 1})
                np.testing.assert_array_equal(reward[2 * r : 2 * r + 2], list(paid.values()))
                if not one.agents:
                    assert step == 3
                    one.reset()


@settings(deadline=None, max_examples=12)
@given(st.sampled_from([c for c in CASES if c[1].get("graph") is None]), st.integers(0, 2**32), st.data())
def test_runs_that_are_started_by_hand_are_the_cores_too(case, seed, data):
    env_id, kwargs, protocol = case
    env = make_vec(env_id, 2, wrappers=protocol, autoreset="disabled", **kwargs)
    alone = [Alone(env_id, kwargs, protocol, seed, r, 2) for r in range(2)]
    env.reset(seed=seed)
    env.action_space.seed(seed)
    over = np.zeros(2, bool)
    for _ in range(12):
        start = over | np.array(data.draw(st.tuples(st.booleans(), st.booleans())))
        if start.any():
            mask = np.repeat(start, env.n_agents)
            options = {"reset_mask": mask}
            seen, infos = env.reset(options=options)
            assert options == {"reset_mask": mask}  # the caller's dict is unchanged
            expected = [run.start() if start[r] else run.task.observe()[0] for r, run in enumerate(alone)]
            np.testing.assert_array_equal(run_by_run(env, seen), expected)
        actions = env.action_space.sample()
        seen, reward, terminated, truncated, infos = env.step(actions)
        played = [run.step(of_run(env, actions, r)) for r, run in enumerate(alone)]
        np.testing.assert_array_equal(run_by_run(env, seen), [p[0] for p in played])
        np.testing.assert_array_equal(run_by_run(env, reward), [p[1] for p in played])
        over = np.array([p[2] for p in played])
        np.testing.assert_array_equal(run_by_run(env, terminated | truncated).all(1), over)
        assert ("metrics" in infos) == over.any()
    if over.any():
        with pytest.raises(RuntimeError, match="step after the end of run"):
            env.step(env.action_space.sample())


def test_a_run_may_wait_a_step_for_its_next_episode():
    env = make_vec("DPMASE-v0", 6, autoreset="next-step", **VOTING)
    env.reset(seed=2)
    env.action_space.seed(0)
    waiting, waited = np.zeros(env.num_envs, bool), 0
    for _ in range(60):
        seen, reward, terminated, truncated, infos = env.step(env.action_space.sample())
        assert not reward[waiting].any()
        assert not (terminated | truncated)[waiting].any()
        assert (seen[waiting][:, env.layout["time"]] == 0).all()  # its first observation
        waited += waiting.any() and not waiting.all()
        waiting = terminated | truncated
        assert ("_metrics" in infos) == waiting.any()
        assert not (infos["_action_mask"] & waiting).any()
    assert waited > 2


def test_last_observations_are_nobody_elses():
    env = make_vec("CoopNetwork-v0", 2, n_agents=3, horizon=2)
    env.reset(seed=0)
    env.step(env.action_space.sample())
    seen, *_, infos = env.step(env.action_space.sample())
    last = infos["final_obs"]
    kept_apart = [x.copy() for x in last]
    seen[:] = 7
    last[0][:] = 8
    env.step(env.action_space.sample())
    for x, y in zip(last[1:], kept_apart[1:], strict=True):
        np.testing.assert_array_equal(x, y)


def test_actions_are_read_and_not_kept():
    env = make_vec("CoopNetwork-v0", 2, n_agents=2, horizon=9)
    env.reset(seed=0)
    arms = np.array([1, 2, 3, 4])
    env.step(arms)
    arms[:] = 0
    np.testing.assert_array_equal(env.task.arm, [[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="sub-env 3"):
        env.step(np.array([1, 2, 3, 10]))
    np.testing.assert_array_equal(env.core.t, [1, 1])
    assert env.step([1, 2, 3, 4])[0].shape == (4, 43)  # a list will do


def test_a_seed_starts_all_runs():
    env = make_vec("CoopNetwork-v0", 2, n_agents=2, horizon=9)
    assert env.reset(seed=4, options={"reset_mask": np.ones(4, bool)})[0].shape == (4, 43)
    assert env.np_random_seed == 4


# -- Gymnasium ----------------------------------------------------------------------------------------------------


def test_statistics_of_runs_that_are_started_by_hand():
    env = wrappers.RecordEpisodeStatistics(make_vec("CoopNetwork-v0", 2, n_agents=2, horizon=3, autoreset="disabled"))
    env.reset(seed=0)
    env.step(env.action_space.sample())
    env.reset(options={"reset_mask": np.array([True, True, False, False])})
    for _ in range(2):
        infos = env.step(env.action_space.sample())[4]
    np.testing.assert_array_equal(infos["episode"]["l"], [0, 0, 3, 3])
    np.testing.assert_array_equal(infos["_metrics"], [False, False, True, True])


def test_what_every_info_says_and_how_it_looks():
    env = make_vec("DistDP-v0", 2, n_agents=2, reward_source="oracle", render_mode="ansi")
    infos = env.reset(seed=0)[1]
    assert set(infos["reward_source"]) == {"oracle"}
    assert infos["_reward_source"].all()
    assert env.render()[0].startswith("DistDP-v0 · run 1 of 2 · users 0 of")
    assert env.state().shape == (2, 2 * env.single_observation_space.shape[0])
    picture = make_vec("CoopNetwork-v0", 2, n_agents=2, render_mode="rgb_array")
    picture.reset()
    assert picture.render()[0].dtype == np.uint8
