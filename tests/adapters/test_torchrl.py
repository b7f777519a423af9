"""TorchRL's view: its check, rows equal to the batched env, truncation, a short training."""

import copy
import pickle
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from kinds import by_class, each_once, one_per_class
from small import NUMBERS, small

import hushbandits as hb
from hushbandits.adapters.learners import Rows, learners_core
from hushbandits.adapters.make import make_torchrl

torch = pytest.importorskip("torch")
pytest.importorskip("torchrl")
from tensordict import TensorDict  # noqa: E402
from torchrl.envs import ActionMask, EnvBase, EnvCreator, ParallelEnv, SerialEnv, TransformedEnv, check_env_specs  # noqa: E402

NET = {"n_agents": 4, "horizon": 6}
CODINGS = ("discrete", "multidiscrete", "native")
EXTRA = {"bit": hb.Field(dtype="?"), "code": hb.Field((3,), "f4")}
EVERY = [
    (env_id, {"action_format": coding}) for env_id in hb.list_envs() for coding in CODINGS if env_id not in NUMBERS
]
EVERY += [(env_id, {"action_format": coding}) for env_id in NUMBERS for coding in ("box", "native")]
EVERY += [
    ("CoopNetwork-v0", {"extra_fields": {"bits": hb.Field((2,), "?")}}),
    ("CoopNetwork-v0", {"extra_fields": EXTRA}),
]


def by_name(value):
    return "-".join(value.get("extra_fields", value.values())) if isinstance(value, dict) else value


def made(env_id, runs=3, **options):
    return make_torchrl(env_id, runs, **small(env_id, **options))


def sampled(env, steps, **kwargs):
    torch.manual_seed(0)
    return env.rollout(steps, break_when_any_done=False, **kwargs)


# -- specs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("env_id", "options"), by_class(EVERY), ids=by_name)
def test_torchrl_finds_nothing(env_id, options):
    env = made(env_id, **options)
    assert isinstance(env, EnvBase)
    check_env_specs(env, seed=0)
    check_env_specs(env, break_when_any_done="both")
    beginning = env.reset()
    assert beginning["agents", "observation"].shape == (3, env.rows.n_agents, env.rows.task.observation_space.shape[0])
    assert beginning["agents", "action_mask"].equal(torch.as_tensor(env.rows.task.mask()))
    assert not beginning["done"].any()


@each_once
@pytest.mark.parametrize("env_id", one_per_class([id for id in hb.list_envs() if id not in NUMBERS]))
@pytest.mark.parametrize("coding", CODINGS[:2])
def test_the_mask_is_the_one_that_torchrl_samples_with(env_id, coding):
    env = TransformedEnv(
        made(env_id, action_format=coding),
        ActionMask(action_key=("agents", "action"), mask_key=("agents", "action_mask")),
    )
    played = sampled(env, 12)
    mask, action = played["agents", "action_mask"], played["agents", "action"]
    if coding == "discrete":
        action = action[..., None]
        starts = [0]
    else:
        starts = np.cumsum([0, *env.rows.task.action_space.nvec[:-1]])
    assert mask.gather(-1, action + torch.as_tensor(starts)).all()


# -- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", ["DPMASE-v0", "CoopNetwork-v0", "DistDP-v0"])
def test_a_rollout_is_the_rows_of_the_core(env_id):
    """Over many episodes that end at different times, the last observation of an episode is its own."""
    sizes = small(env_id) | ({"n_agents": 4, "n_arms": 3, "delta": 0.5} if env_id == "DPMASE-v0" else {})
    env = make_torchrl(env_id, 3, **sizes)
    env.set_seed(5)
    played = sampled(env, 90)
    rows = Rows(learners_core(env_id, 3, (), None, sizes))
    seen, ends = rows.reset(5), 0
    for t in range(90):
        now = played[:, t]
        np.testing.assert_array_equal(now["agents", "observation"].numpy(), seen)
        np.testing.assert_array_equal(now["agents", "action_mask"].numpy(), rows.task.mask())
        reward, over, solved = rows.step(now["agents", "action"].numpy())
        seen, after = rows.task.observe(), now["next"]
        np.testing.assert_array_equal(after["agents", "observation"].numpy(), seen)
        np.testing.assert_array_equal(after["agents", "reward"][..., 0].numpy(), reward.astype(np.float32))
        np.testing.assert_array_equal(after["done"][:, 0].numpy(), over)
        np.testing.assert_array_equal(after["terminated"][:, 0].numpy(), solved)
        np.testing.assert_array_equal(after["truncated"][:, 0].numpy(), over & ~solved)
        ends += over.sum()
        if over.any():
            seen = rows.reset(rows=np.flatnonzero(over))
    assert ends > 6
    if env_id != "CoopNetwork-v0":
        assert played["next", "done"].any(0).sum() > played["next", "done"].all(0).sum()  # not all at once


def test_only_what_is_asked_for_starts_anew():
    env = made("CoopNetwork-v0", **NET)
    state = env.reset(TensorDict({"_reset": torch.tensor([[True], [False], [False]])}, [3]))  # the first: all of them
    assert not state["done"].any()
    for _ in range(6):
        state = env.step(env.rand_action(state))["next"]
    assert state["done"].all()
    last = state["agents", "observation"].clone()
    state["_reset"] = torch.tensor([[False], [True], [False]])
    state = env.reset(state)
    assert state["done"][:, 0].tolist() == state["truncated"][:, 0].tolist() == [True, False, True]
    assert state["agents", "observation"][[0, 2]].equal(last[[0, 2]])
    after = env.step(env.rand_action(state))["next"]  # an ended run stays ended, with reward 0
    assert after["done"][:, 0].tolist() == [True, False, True]
    assert (after["agents", "reward"][[0, 2]] == 0).all()
    assert after["agents", "observation"][[0, 2]].equal(last[[0, 2]])
    waiting = env.rand_action(state)
    waiting["_step"] = torch.tensor([[False], [False], [True]])
    with pytest.raises(ValueError, match="_step must be True for every run"):
        env.step(waiting)


def test_all_runs_may_be_played_to_their_ends():
    played = made("DPMASE-v0").rollout(200, break_when_any_done=False, break_when_all_done=True)
    assert played["next", "done"][:, -1].all()


def test_the_seed_decides_and_the_stream_goes_on():
    def episodes(env, seed):
        env.set_seed(seed)
        return sampled(env, 20)

    one, two = made("CoopNetwork-v0", **NET), made("CoopNetwork-v0", **NET)
    assert (episodes(one, 3) == episodes(two, 3)).all()
    assert (sampled(one, 20) == sampled(two, 20)).all()  # without a new seed
    assert not (episodes(one, 4) == episodes(two, 3)).all()
    assert (episodes(one, 3) == episodes(made("CoopNetwork-v0", **NET), 3)).all()  # independent of earlier episodes
    with pytest.raises(ValueError, match="seed=-1"):
        one.set_seed(-1)


def side_by_side(kind):
    env = kind(2, EnvCreator(lambda: made("CoopNetwork-v0", **NET, runs=2)))
    try:
        env.set_seed(3)
        return sampled(env, 8)
    finally:
        env.close()


def test_several_views_side_by_side():
    assert side_by_side(SerialEnv)["next", "agents", "reward"].shape == (2, 2, 8, 4, 1)


@pytest.mark.weekly
def test_processes_play_what_one_process_plays():
    assert (side_by_side(ParallelEnv) == side_by_side(SerialEnv)).all()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
def test_a_copy_goes_its_own_way(copied):
    env = made("CoopNetwork-v0", **NET)
    env.set_seed(1)
    state = env.reset()
    state = env.rand_action(state)
    twin = copied(env)
    assert (env.step(state.clone())["next"] == twin.step(state.clone())["next"]).all()


# -- learning -----------------------------------------------------------------------------------------------------


def test_the_example_learns_the_best_arm():
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "torchrl_ppo.py"))
    threads = torch.get_num_threads()
    curve = example["train"]("CoopNetwork-v0", batches=15)
    torch.set_num_threads(threads)
    assert curve[0] < 0.6 < 0.75 < np.median(curve[-10:])


# -- what is asked for --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (torch.full((3, 4), 10), r"action .*10.* of sub-env 0, agent_0 of run 0, lies outside its space Discrete"),
        (torch.zeros(3, 4, 10, dtype=torch.int64), "lies outside its space Discrete"),
        (torch.zeros(3, 4), "lies outside its space Discrete"),
    ],
    ids=["too large", "one-hot", "float"],
)
def test_an_action_outside_its_space_is_refused(bad, says):
    env = made("CoopNetwork-v0", **NET)
    state = env.reset()
    state["agents", "action"] = bad
    with pytest.raises(ValueError, match=says):
        env.step(state)
    good = env.rand_action(env.reset())  # nothing has happened
    env.step(good)


def test_without_torchrl_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "hushbandits.adapters.torchrl", raising=False)
    monkeypatch.setitem(sys.modules, "torchrl.envs", None)
    with pytest.raises(ImportError, match=r"make_torchrl needs TorchRL .*: pip install 'hushbandits\[torchrl\]'"):
        make_torchrl("CoopNetwork-v0", 2)
