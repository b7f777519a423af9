"""`FromFunction`: a function of observations plays like a policy trained in the same env."""

import numpy as np
import pytest

import hushbandits as hb

NET = {"n_agents": 3, "horizon": 12, "n_arms": 3, "means": (0.9, 0.5, 0.1)}
VOTE = {"n_agents": 6, "horizon": 60, "means": (0.9, 0.5, 0.1), "beta": 0.3, "delta": 0.3}
BLOCKS = {"n_agents": 2, "horizon": 40, "means": (0.9, 0.5, 0.1)}
BIT, CODE = {"bit": hb.Field(dtype="?")}, {"code": hb.Field((2,), "f4")}
GAMES = {
    "network": ("CoopNetwork-v0", NET, {}),
    "slots": ("CoopNetwork-v0", NET, {"observe_messages": True, "agent_id": True}),
    "bits": ("CoopNetwork-v0", {**NET, "extra_fields": BIT}, {}),
    "floats": ("CoopNetwork-v0", {**NET, "extra_fields": CODE}, {}),
    "exploration": ("DPMASE-v0", VOTE, {}),
    "votes": ("DPMASE-v0", VOTE, {"action_format": "native"}),
    "one arm": ("DecentralizedExploration-v0", {"horizon": 60}, {}),
    "feedback": ("DistDP-v0", BLOCKS, {}),
    "pairs": ("DistDP-v0", BLOCKS, {"action_format": "multidiscrete"}),
}


def drawn(space, rngs, wide):
    """Return one action of each of `wide` agents per run, from generators."""
    if hasattr(space, "spaces"):
        return {name: drawn(part, rngs, wide) for name, part in space.items()}
    if hasattr(space, "nvec"):
        return np.stack([rng.integers(space.nvec, size=(wide, *space.shape)) for rng in rngs])
    if hasattr(space, "low"):
        return np.stack([rng.uniform(-1, 1, (wide, *space.shape)) for rng in rngs])
    return np.stack([rng.integers(2 if space.shape else space.n, size=(wide, *space.shape)) for rng in rngs])


@pytest.mark.parametrize("two_phase", [False, True])
@pytest.mark.parametrize("game", GAMES)
def test_it_is_asked_for_all_who_act_and_a_run_alone_is_its_row(game, two_phase):
    id, env, task = GAMES[game]
    view = hb.make(id, **env, **task)
    space, wide = view.action_space(view.possible_agents[0]), view.observation_space(view.possible_agents[0]).shape
    shapes = set()

    def uniforms(observations, active_agents, mask, rngs):
        assert observations.dtype == np.float32
        assert observations.shape == (*active_agents.shape, *wide)
        assert mask.shape[:2] == active_agents.shape
        shapes.add(active_agents.shape)
        return drawn(space, rngs, active_agents.shape[1])

    team = hb.FromFunction(uniforms, task=task, two_phase=two_phase)
    many, one = (hb.evaluate(id, team, runs=runs, env=env).only.data.finals for runs in (3, 1))
    assert all(np.array_equal(one[name][0], value[0]) for name, value in many.items())
    assert set(many["two_phase"]) == {two_phase}
    agents = 1 if view.core.setting == "exploration" else view.core.n_agents
    assert shapes == {(3, agents), (1, agents)}


def test_it_sees_and_does_what_a_learner_would():
    """The same rule in the vector view and as an agent gives the same metrics."""
    layout = hb.make("CoopNetwork-v0", **NET).layout

    def greedy(observations):
        return (observations[..., layout["heard_mean"]] + observations[..., layout["own_width"]]).argmax(-1)

    view = hb.make_vec("CoopNetwork-v0", 4, **NET)
    seen, _ = view.reset(seed=5)
    for _ in range(NET["horizon"]):
        seen, _, _, _, infos = view.step(greedy(seen))
    core = hb.make_batched("CoopNetwork-v0", 4, permute_arms=True, **NET)
    found = hb.rollout(core, hb.FromFunction(greedy), 5)
    assert np.array_equal(found["regret"], infos["final_info"]["metrics"]["regret"].reshape(4, 3)[:, 0])


def test_masks_are_those_of_the_agents_that_act():
    def allowed(observations, mask):
        assert mask.any(-1).all()
        return mask.argmax(-1)

    found = hb.evaluate("DPMASE-v0", hb.FromFunction(allowed), runs=3, env=VOTE)
    assert found.final("rounds").shape == (3,)


class Counting:
    """A function with memory, which must be informed of resets."""

    def __init__(self):
        self.t = 0

    def reset(self):
        self.t = 0

    def __call__(self, observations):
        self.t += 1
        return np.full(observations.shape[:2], self.t % 3)


def test_what_remembers_is_shown_when_runs_begin():
    team = hb.FromFunction(Counting())
    assert team.name == "Counting"
    one, two = (hb.evaluate("CoopNetwork-v0", team, runs=30, env={**NET, "horizon": 13}) for _ in range(2))
    assert np.array_equal(one.final("regret"), two.final("regret"))


def test_what_it_is_given_is_its_own_to_write_in():
    """A function that overwrites its observations affects the run only by its actions."""

    def scribbles(observations, active_agents, mask):
        observations[:], active_agents[:], mask[:] = 7, 0, False
        return np.zeros(observations.shape[:2], int)

    def keeps(observations):
        return np.zeros(observations.shape[:2], int)

    for id, env, _ in (GAMES["network"], GAMES["exploration"], GAMES["feedback"]):
        played = [hb.evaluate(id, hb.FromFunction(f, name="x"), runs=2, env=env) for f in (scribbles, keeps)]
        one, two = (results.only.data.finals for results in played)
        assert all(np.array_equal(value, two[name]) for name, value in one.items())
