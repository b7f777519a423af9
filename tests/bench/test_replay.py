"""`hb.replay`: in the env of a row, the same actions give the same numbers."""

import numpy as np
import pytest
from bench_helpers import small

import hushbandits as hb

GAMES = {
    "network": ("CoopNetwork-v0", {"n_agents": 3, "horizon": 12, "graph": "erdos-renyi", "edge_failure_prob": 0.3}),
    "exploration": ("DPMASE-v0", {"n_agents": 6, "horizon": 60, "means": (0.9, 0.5, 0.1), "beta": 0.3, "delta": 0.3}),
    "feedback": ("DistDP-v0", {"n_agents": 2, "horizon": 40, "n_arms": 3}),
}


@pytest.mark.parametrize("two_phase", [False, True])
@pytest.mark.parametrize("game", GAMES)
def test_the_same_actions_give_the_numbers_of_the_row(game, two_phase):
    id, env = GAMES[game]
    many = hb.make(id, **env).action_space("agent_0").n

    def rule(seen):
        return np.abs(seen * 1000).astype(np.int64).sum(-1) % many

    wrappers = ["Loss"] if game == "network" else []
    results = hb.evaluate(id, hb.FromFunction(rule, two_phase=two_phase), runs=3, seed=5, env=env, wrappers=wrappers)
    view = hb.replay(results, 2, two_phase=two_phase)
    for _ in range(2):  # a reset restarts the same run
        seen, _ = view.reset()
        while view.agents:
            seen, *_ = view.step({agent: int(rule(seen[agent])) for agent in view.agents})
        found = view.metrics()
        assert len(found) > 2
        assert all(np.array_equal(value, results.final(name)[2]) for name, value in found.items())


class Turns:
    """Agent that plays the arms in turn."""

    blind = True

    def __init__(self, m, rng, n_arms):
        self.m, self.n_arms = m, n_arms

    def act(self, t):
        return (self.m + t) % self.n_arms


def test_a_cell_of_a_folder_is_picked(tmp_path):
    spec = small(
        runs=3, sweep={"env.n_agents": (3, 4)}, agents=["Random", hb.Component(f"{__name__}:Turns")], wrappers=[]
    )
    hb.run(spec, tmp_path)
    pick = {"label": "Turns", "at": {"env.n_agents": 4}}
    for results in (tmp_path, hb.load_results(tmp_path)):
        view, t = hb.replay(results, 1, **pick), 0
        while view.agents:
            t += 1
            view.step({agent: (m + t) % view.core.n_arms for m, agent in enumerate(view.agents)})
        row = hb.load_results(tmp_path).select(**pick).final("regret")
        assert view.metrics()["regret"] == row[1]
    with pytest.raises(ValueError, match="run=3"):
        hb.replay(tmp_path, 3, **pick)
    with pytest.raises(ValueError, match="4"):
        hb.replay(tmp_path, 1)
