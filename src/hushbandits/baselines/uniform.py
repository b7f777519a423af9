"""Uniform play, a baseline of this package."""

from hushbandits.core import Action, Array, Observation, Streams, Team, World, integer, probability


class Random(Team):
    """Agents that pull random arms (in the exploration setting all remaining arms) and send random or default messages.

    Exploration: pulls every arm still in 𝒦 and votes each out with probability `rate`.  Feedback: a uniform arm for a
    block of `block` users.  Elsewhere: a uniform arm each, and the standard report.

    Parameters
    ----------
    rate : float
        Vote probability per arm and activation (exploration).
    block : int
        Users per block (feedback).
    """

    required_own_reward = ()

    def __init__(self, rate: float = 0.01, block: int = 32):
        self.rate = probability("rate", rate)
        self.block = integer("block", block, 1)

    @property
    def decides_runs(self) -> bool:  # type: ignore[override]
        return self.rate > 0

    def reset(self, env: World, rng: Streams) -> None:
        self._env = env
        self._rngs = rng.generators()

    def act(self, obs: Observation) -> Action:
        return self._env.random_action(self._rngs, block=self.block)

    def compose(self, reward: Array) -> dict[str, Array] | None:
        return self._env.random_message(self._rngs, rate=self.rate)
