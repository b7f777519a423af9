"""Metrics of a team at the end of a run, and the event of lemma 2 (Chowdhury & Zhou 2023)."""

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.agents.chowdhury2023 import DistDPSE
from hushbandits.bench.runner.batch import Batch
from hushbandits.bench.runner.curves import record
from hushbandits.core.rollout import rollout


class Counting(hb.Team):
    """Pulls arm 0 and counts its rounds."""

    setting = "network"

    def reset(self, env, rng):
        self.rounds = np.zeros(len(rng), int)

    def act(self, obs):
        self.rounds += obs.running
        return np.zeros(obs.active_agents.shape, int)

    def metrics(self, env):
        return {"acted": self.rounds.copy()}


def test_finals_are_those_of_env_and_team():
    env = hb.make_batched("CoopNetwork-v0", runs=3, n_agents=4, horizon=7)
    for finals in (rollout(env, Counting()), record(env, Counting(), 0, [7], ["regret"])[0]):
        assert finals["acted"].tolist() == [7, 7, 7]
        assert "regret" in finals


@pytest.mark.parametrize(("agent", "env_id"), [("Dist-DP-SE", "DistDP-v0"), ("DP-SE", "CentralDP-v0"),
                                               ("VB-SDP-AE", "ShuffleDP-v0")])  # fmt: skip
def test_estimates_stay_within_the_radius(agent, env_id):
    env = {"n_arms": 10, "means": hb.UniformMeans(0.25, 0.75), "horizon": 20_000, "epsilon": 0.5, "confidence": 0.1}
    finals, _, _ = Batch("", "", env_id, agent, [], env, {}, [], "", 0, range(60)).play()
    assert finals["covered"].mean() > 0.7  # 1 − 3p; a fair coin of .7 gives 60 of 60 with probability 5e-10


def test_covered_is_what_the_means_say():
    """Recomputed from the messages: every active arm's mean of every phase against its width."""
    seen = []

    class Open(DistDPSE):
        def interval(self, r, i, m, b):
            width = super().interval(r, i, m, b) * 0.3
            seen.append(bool((np.abs(self._mean[r, i] - truth)[self._active[r, i]] <= width).all()))
            return width

    outcomes = set()
    for seed in range(20):
        env = hb.make_batched("DistDP-v0", n_arms=4, means=hb.UniformMeans(0.25, 0.75), horizon=3000, epsilon=0.5)
        env.reset(seed)
        truth = env.means[0]
        seen.clear()
        covered = bool(rollout(env, Open(), seed)["covered"][0])
        assert covered == all(seen)
        outcomes.add(covered)
    assert outcomes == {True, False}
