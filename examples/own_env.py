"""Two user-defined envs: a graph whose arms have seasons, and channels that pay only a single agent.

Run ``python own_env.py``, or ``hushbandits run own_env.toml`` in this folder.
"""

import numpy as np

import hushbandits as hb
from hushbandits.core.random.arms import Arms
from hushbandits.envs.network import CoopNetwork
from hushbandits.envs.rounds.env import Rounds


class SeasonalArms(Arms):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.moving = True

    def move(self, start, t):
        phase = 2 * np.pi * (np.asarray(t)[..., None] / 500 + np.arange(start.shape[-1]) / start.shape[-1])
        return np.clip(start + 0.2 * np.sin(phase), 0.0, 1.0)


class Seasons(CoopNetwork):
    """Cooperation over a graph whose arm means rise and fall, each arm at another time of the year."""

    arms_class = SeasonalArms


class Channels(Rounds):
    """Multi-player bandit: agents that share a channel earn nothing.  The regret is against the M best arms."""

    setting = "channels"

    def _alone(self, arm):
        return (arm[:, :, None] == arm[:, None]).sum(2) == 1

    def _rewards(self, arm, location, u):
        return super()._rewards(arm, location, u) * self._alone(arm)

    def _charge(self, arm, gap):
        best = np.sort(self.means, 1)[:, -self.n_agents :].mean(1, keepdims=True)
        return best - self._alone(arm) * np.take_along_axis(self.means, arm, 1)


class Hop:
    """Stays on its channel while it pays, otherwise hops to a random one."""

    def __init__(self, m, rng, n_arms):
        self.rng, self.n_arms, self.arm = rng, n_arms, m % n_arms

    def act(self, t):
        return self.arm

    def compose(self, reward):
        if not reward:
            self.arm = int(self.rng.integers(self.n_arms))


if __name__ == "__main__":
    for env, agent in ((Seasons, "Multi-UCB"), (Seasons, "Random"), (Channels, Hop), (Channels, "Random")):
        results = hb.evaluate(env, agent, runs=5, env={"n_agents": 4, "horizon": 500})
        print(f"{env.__name__:10}{results.final('regret').mean():8.1f}")
    hb.testing.check_env(lambda: hb.make(Channels, n_agents=3, horizon=8))
