"""The three short rules equal their formulas: twins in plain Python, run by run."""

import math

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.policies.draws import normal

TRAIN = {"Index-TS": "CoopNetwork-Train-v0", "Gap-Vote": "DPMASE-Train-v0", "Commit-Blocks": "DistDP-Train-v0"}


class IndexTwin(hb.Team):
    stream = "Index-TS"
    setting, required_inbox = "network", ("tally",)

    def reset(self, env, rng):
        self.cursors = rng.cursors(env.n_agents)
        self.n, self.s = np.zeros((2, len(rng), env.n_agents, env.n_arms))

    def act(self, obs):
        def draw(r, m, k):
            n = self.n[r, m, k] + 1.0
            return (1.0 + self.s[r, m, k]) / n + 0.15 * normal(self.cursors, r * self.n.shape[1] + m) / math.sqrt(n)

        runs, agents, arms = self.n.shape
        rows = [[[draw(r, m, k) for k in range(arms)] for m in range(agents)] for r in range(runs)]
        self.arms = np.array(rows).argmax(-1)
        return self.arms

    def compose(self, reward):
        r, m = np.indices(self.arms.shape)
        self.n[r, m, self.arms] += 1
        self.s[r, m, self.arms] += reward
        return None

    def receive(self, inbox):
        n, s = inbox.tally()
        self.n += n
        self.s += s


class GapTwin(hb.Team):
    setting, decides_runs = "exploration", True

    def requirements(self, settings):
        return hb.Requirements(env={"inactive_agents": "drop"})

    def reset(self, env, rng):
        self.mine = np.ones((len(rng), env.n_agents, env.n_arms), bool)
        self.sums, self.t = np.zeros(self.mine.shape), np.zeros(self.mine.shape[:2])

    def act(self, obs):
        self.rows, self.active_agents, self.running = (
            np.arange(len(obs.active_agents)),
            obs.active_agents[:, 0],
            obs.running.copy(),
        )
        own = self.mine[self.rows, self.active_agents]
        self.pulled = own & (own.sum(1, keepdims=True) > 1)
        return self.pulled[:, None]

    def compose(self, reward):
        vote = np.zeros_like(self.pulled)
        for r, m in enumerate(self.active_agents):
            if not self.running[r] or not self.pulled[r].any():
                continue
            arms = np.flatnonzero(self.pulled[r])
            self.sums[r, m, arms] += reward[r, 0, arms]
            self.t[r, m] += 1
            own = self.sums[r, m, arms]
            if self.t[r, m] >= 4 and own.max() - own.min() > 0.5 * math.sqrt(self.t[r, m]):
                vote[r, arms[own.argmin()]] = True
        self.mine[self.rows, self.active_agents] &= ~vote
        return {"vote": vote[:, None]}

    def receive(self, inbox):
        self.mine[self.rows, self.active_agents] &= inbox["active"][:, 0, 0].astype(bool)


class BlocksTwin(hb.Team):
    setting, required_inbox = "feedback", ("reward", "n")

    def reset(self, env, rng):
        self.env, self.means = env, [[] for _ in range(len(rng))]

    def act(self, obs):
        k = self.env.n_arms
        arms = [len(m) if len(m) < k else int(np.argmax(m[:k])) for m in self.means]
        users = [32 if len(m) < k else self.env.horizon for m in self.means]
        return np.array(arms)[:, None], np.array(users)[:, None]

    def receive(self, inbox):
        for r, (total, n) in enumerate(zip(inbox.total("reward")[:, 0], inbox.total("n")[:, 0], strict=True)):
            self.means[r].append(total / max(n, 1))


TWINS = {"Index-TS": IndexTwin, "Gap-Vote": GapTwin, "Commit-Blocks": BlocksTwin}


@pytest.mark.parametrize("agent", TWINS)
def test_it_plays_as_its_twin(agent):
    found = [hb.evaluate(TRAIN[agent], team, runs=6, seed=3) for team in (agent, TWINS[agent]())]
    for metric in ("correct", "rounds") if agent == "Gap-Vote" else ("regret",):
        ours, twins = (results.final(metric).tolist() for results in found)
        assert ours == twins
