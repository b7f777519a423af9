"""Successive elimination on blocks of users behind a privacy mechanism: the base of the feedback agents.

It is algorithm 1 of Chowdhury & Zhou 2023 without batches and radius, which `chowdhury2023` and the baselines add.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hushbandits.agents.calibrated import Calibrated
from hushbandits.best_arm.successive import eliminate
from hushbandits.core import Array, Inbox, Metric, Observation, Streams, World
from hushbandits.privacy.plans import confidence_level


class SuccessiveElimination(Calibrated):
    """Base of agents that eliminate arms in phases: phase b gives every active arm a block of new users.

    After a phase, arms are dropped and the data is forgotten.  The last arm is played to the end.  A subclass defines
    the block length and the width of a phase.

    Parameters
    ----------
    epsilon : float, optional
        ε of the env's mechanism; left out, the env's own.  The same ε sets the width.
    confidence : float or "1/T", optional
        p; left out, the mechanism's.
    require_calibrated : bool
        As in `Calibrated`: False allows a mechanism that the width was not made for.

    Raises
    ------
    ValueError
        The env has no mechanism, one with another ε or p, or one that the radius was not made for.
    """

    metrics_spec: Mapping[str, Metric] = {
        "covered": Metric("share of runs whose estimates stay within their radius", "rate"),
    }
    shared: tuple[str, ...] = ("epsilon", "confidence")
    _confidence: float | str

    def __init__(
        self, epsilon: float | None = None, confidence: float | str | None = None, *, require_calibrated: bool = True
    ):
        super().__init__(epsilon, require_calibrated=require_calibrated)
        self.confidence = confidence
        if confidence is not None:
            confidence_level(confidence, 2)

    def length(self, m: int, b: int) -> float:
        """Return the number of users per arm in phase b with m active arms."""
        raise NotImplementedError(f"{type(self).__name__} must define length(m, b)")

    def width(self, m: int, b: int, n: int) -> float:
        """Return the half width of an arm's confidence interval from n users, in phase b with m active arms."""
        raise NotImplementedError(f"{type(self).__name__} must define width(m, b, n)")

    def validate_env(self, env: World) -> None:
        super().validate_env(env)
        self._p = confidence_level(self._confidence, env.horizon)

    def reset(self, env: World, rng: Streams) -> None:
        self.validate_env(env)  # `reset` may be called without `check_compatible`
        shape = (len(rng), env.n_agents)
        self._horizon = env.horizon
        self._active = np.ones((*shape, env.n_arms), bool)
        self._mean = np.zeros((*shape, env.n_arms))
        # bounds on an arm's mean from all decisions so far; the true mean is unknown here
        self._least, self._most = np.full((*shape, env.n_arms), -np.inf), np.full((*shape, env.n_arms), np.inf)
        self._phase = np.ones(shape, np.int64)
        self._arm = np.zeros(shape, np.int64)
        self._n = np.full(shape, self._block(env.n_arms, 1), np.int64)
        self._heard = np.full(shape, env.horizon, np.int64)  # fewest users behind a mean of this phase

    def _block(self, m: int, b: int) -> int:
        # The env cuts a block at the horizon.
        return int(min(self.length(m, b), self._horizon)) if m > 1 else self._horizon

    def estimate(self, r: int, i: int, k: int, total: float, n: int) -> float:
        """Return the mean of arm k of agent i in run r from this phase's block of n users with sum `total`."""
        return total / n

    def interval(self, r: int, i: int, m: int, b: int) -> float:
        """Return the half width in phase b with m active arms (run r, agent i): `width` at the shortest block."""
        return self.width(m, b, int(self._heard[r, i]))

    def act(self, obs: Observation) -> tuple[Array, Array]:
        return self._arm, self._n

    def receive(self, inbox: Inbox) -> None:
        total, n = inbox.total("reward"), inbox.total("n")
        for r, i in zip(*inbox.arrived[:, :, 0].nonzero(), strict=True):
            active, k = self._active[r, i], self._arm[r, i]
            self._mean[r, i, k] = self.estimate(r, i, k, total[r, i], n[r, i])
            self._heard[r, i] = min(self._heard[r, i], n[r, i])
            (later,) = active[k + 1 :].nonzero()
            if len(later):
                self._arm[r, i] = k + 1 + later[0]
                continue
            m, b = int(active.sum()), int(self._phase[r, i])
            if m > 1:
                width = self.interval(r, i, m, b)
                self._least[r, i, active] = np.maximum(self._least[r, i], self._mean[r, i] - width)[active]
                self._most[r, i, active] = np.minimum(self._most[r, i], self._mean[r, i] + width)[active]
                m = eliminate(self._mean[r, i], active, width)
            self._phase[r, i], self._heard[r, i] = b + 1, self._horizon
            self._arm[r, i] = active.nonzero()[0][0]
            self._n[r, i] = self._block(m, b + 1)

    def metrics(self, env: World) -> dict[str, Array]:
        """Return ``covered`` (R,): whether every estimate that decided was within its width of the true mean.

        With ``require_calibrated=False`` also ``uncalibrated`` (R,): the width is not that of the mechanism's noise.
        """
        truth = env.means[:, None]
        covered = np.all((self._least <= truth) & (truth <= self._most), axis=(1, 2))
        return {"covered": covered, **self._marks(len(covered))}
