"""Linear bandits as a reinforcement-learning task."""

import math

import numpy as np

from hushbandits.core import Array, Observation, Part
from hushbandits.envs.linear.server import FIELDS
from hushbandits.envs.rounds.task import PullTask
from hushbandits.estimators.ridge import Ridge, picked


class LinearTask(PullTask):
    """Task in which an active agent sees features of all arms, and pulls one; every pull is reported.

    The action space is ``Discrete(K)``; the actions of agents that do not act (``acts`` is 0) have no effect.  Further
    parts: ``features``, K·d numbers, 0 for agents that do not act; ``heard_mean`` and ``heard_width``.  ``own_mean``
    and ``own_width`` are x·θ̂ and ‖x‖ in the norm of V⁻¹ for each arm's features x, by a ridge regression (λ = 1) on the
    agent's own pulls; ``heard_…`` are those by the server's sums.  Widths are divided by the largest norm of features,
    if that is above 1.  An agent's reward is that of its own pull, or its mean by the server's sums where agents do not
    see their rewards.

    Parameters
    ----------
    core : Linear or its EnvView
    **options
        As for `RLTask`.

    Examples
    --------
    >>> import hushbandits as hb
    >>> task = LinearTask(hb.make_batched("FedLinear-v0", n_arms=4, n_features=2))
    >>> task.action_space, task.observation_space.shape
    (Discrete(4), (27,))
    """

    def _parts(self) -> dict[str, Part]:
        k, norm = self.core.n_arms, self.core.contexts.norm
        mean = (k, -math.inf, math.inf)  # an estimate by a ridge regression leaves the range of rewards
        features = (k * self.core.n_features, -norm, norm)
        return {"own_mean": mean, "heard_mean": mean, "heard_width": (k, 0.0, 1.0), "features": features}

    def _start(self, rows: slice | Array) -> None:
        core, (runs, agents) = self.core, self._seats.shape
        if isinstance(rows, slice):
            self._runs = np.arange(runs)[:, None]
            self.own, self.server = (Ridge(runs, agents, core.n_features, 1.0) for _ in range(2))
        for ridge in (self.own, self.server):
            ridge.restart(rows)
        self._see(rows)

    def _see(self, rows: slice | Array) -> None:
        """Write the features of the coming round, and what both regressions say of them, to the observations."""
        core, at = self.core, self.layout
        x = self._spread(self.obs.active_agents, core.features)
        self.observations[rows, :, at["features"]] = x[rows].reshape(*x[rows].shape[:2], -1)
        for whose, ridge in (("own", self.own), ("heard", self.server)):
            mean, width = ridge.predict(x)
            self.observations[rows, :, at[f"{whose}_mean"]] = mean[rows]
            self.observations[rows, :, at[f"{whose}_width"]] = width[rows] / max(1.0, core.contexts.norm)

    def pulled(self, obs: Observation) -> None:
        """Add the pulls of runs that go on to the statistics."""
        assert self.arm is not None
        self._who = obs.active_agents
        self.pulls[self._runs, self._who, self.arm] += obs.running[:, None]
        self._pulled = picked(self.core.features, self.arm)
        if obs.reward is not None:
            self.own.add(self._who, self._pulled * obs.running[:, None, None], obs.reward)

    def answered(self) -> Array | None:
        """Return the pull's mean by the server's sums as the reward if own rewards are withheld, else ``None``."""
        if "reward" in self.core.own_reward_fields:
            return None
        return self._spread(self._who, (self._pulled * self.server.theta[self._runs, self._who]).sum(2))

    def heard(self, obs: Observation) -> None:
        """Take over the server's sums where they arrive, and show the next round."""
        assert obs.inbox is not None
        r, m = obs.inbox.arrived[..., 0].nonzero()
        self.server.refresh(r, m, *(value[r, m] for value in map(obs.inbox.total, FIELDS)))
        self.show_time(obs.t)
        self._see(slice(None))

    def show_turn(self, pull: bool, talk: bool) -> None:
        """Mark in the observations which agents act in the next step."""
        acting = self._spread(self.obs.active_agents, 1.0)[..., None]
        self.observations[..., self.layout["acts"]] = acting * pull
        self.observations[..., self.layout["speaks"]] = acting * talk

    def say(self) -> list[str]:
        """Return the lines of the text that `render` shows."""
        return [f"pulls per agent {self.pulls[0].sum(1).astype(int).tolist()}"]
