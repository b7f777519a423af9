"""Successive elimination on blocks of users behind a privacy mechanism: what the feedback agents share.

Algorithm 1 of Chowdhury & Zhou 2023 without its batches and radius; `chowdhury2023` and the baselines bring these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from hushbandits.core.ground.types import Array, Params, Seeds
from hushbandits.core.ground.validate import divisor, flag
from hushbandits.core.measure import Measure
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.team import Protocol, Team
from hushbandits.core.world import World
from hushbandits.core.wrapper import Wrapper
from hushbandits.privacy.plans import confidence_level
from hushbandits.routines.successive import eliminate

__all__ = ["SuccessiveElimination"]


class SuccessiveElimination(Team):
    """Base: in phase b every active arm gets a block of new users; then arms are dropped; old data is forgotten.

    Once one arm is left it is played to the end.  A subclass gives a phase's block length and width.

    Parameters
    ----------
    epsilon : float, optional
        ε of the env's mechanism; left out, the env's own.  The same ε sets the width.
    confidence : float or "1/T", optional
        p; left out, the mechanism's.
    calibrated : bool
        A radius is proven for one mechanism's noise (`mechanisms`); with any other the agent would eliminate arms too
        late or too boldly, and is refused.  False: it plays all the same, and the metric ``uncalibrated`` says where.

    Raises
    ------
    ValueError
        The env has no mechanism, one with another ε or p, or one that the radius was not made for.

    Notes
    -----
    A mechanism of one's own whose noise on a block's sum has tails no heavier than that of a shipped one says so by a
    class attribute, ``noise_as = "DiscreteLaplace"``.
    """

    setting = "feedback"
    hears = ("reward", "n")
    measures: Mapping[str, Measure] = {
        "covered": Measure("share of runs whose estimates stay within their radius", "rate"),
        "uncalibrated": Measure("share of runs with a radius made for another mechanism", "rate"),
    }
    #: The mechanism's parameters that enter the radius, and belong to agent and mechanism alike.
    shared: tuple[str, ...] = ("epsilon", "confidence")
    _epsilon: float
    _confidence: float | str
    #: Mechanisms (classes by name, or what they call themselves in ``noise_as``) that its radius holds for; empty: it
    #: makes no statement.
    mechanisms: ClassVar[tuple[str, ...]] = ()
    #: Parameters of the mechanism that the algorithm fixes.
    fixed: ClassVar[Params] = {}
    #: The protocol's wrappers, for an env that has none; the first is the mechanism.
    wrappers: ClassVar[tuple[str, ...]] = ("DiscreteLaplace", "SecAgg")

    def __init__(self, epsilon: float | None = None, confidence: float | str | None = None, *, calibrated: bool = True):
        self.epsilon = epsilon if epsilon is None else divisor("epsilon", epsilon)
        self.confidence = confidence
        self.calibrated = flag("calibrated", calibrated)
        if confidence is not None:
            confidence_level(confidence, 2)

    def protocol(self, settings: dict[str, object]) -> Protocol:
        """The mechanism gets the agent's ε and p; an env without a mechanism gets it from the agent."""
        given = {name: getattr(self, name) for name in self.shared if getattr(self, name) is not None}
        there = settings.get("mechanism", True)
        if isinstance(there, str) and there and there not in self.wrappers and not self._fits(there):
            self._uncalibrated(there)
            return Protocol(env=given)  # what it fixes is another mechanism's
        given |= self.fixed
        if there:
            return Protocol(env=given)
        mechanism, *secure = self.wrappers
        kind = {name: value for name, value in given.items() if name == "shuffle"}  # both halves of a shuffle know it
        return Protocol(wrappers=((mechanism, given), *((name, kind) for name in secure)))

    def _fits(self, mechanism: str) -> bool:
        return not self.mechanisms or mechanism in self.mechanisms

    def _uncalibrated(self, noise: str) -> None:
        if self.calibrated:
            raise ValueError(
                f"{self.name} has a radius for the noise of {' and '.join(self.mechanisms)}, not for that of {noise}; "
                f"calibrated=False plays it all the same, and marks the result"
            )

    def _meets(self, mechanism: Wrapper) -> bool:
        if not self.mechanisms:
            return True
        noise = str(getattr(mechanism, "noise_as", "") or type(mechanism).__name__)
        if not self._fits(noise):
            self._uncalibrated(noise if noise == mechanism.name else f"{mechanism.name} ({noise})")
            return False
        for name, value in {**self.fixed, "t_min": 1.0}.items():  # noise for t_min < 1 is more, where all take part
            if getattr(mechanism, name, value) != value:
                self._uncalibrated(f"{mechanism.name} with {name}={getattr(mechanism, name)!r}")
                return False
        return True

    def length(self, m: int, b: int) -> float:
        """Users per arm in phase b with m active arms."""
        raise NotImplementedError(f"{type(self).__name__} must define length(m, b)")

    def width(self, m: int, b: int, n: int) -> float:
        """Half width of an arm's interval after n users, in phase b with m active arms."""
        raise NotImplementedError(f"{type(self).__name__} must define width(m, b, n)")

    def meets(self, env: World) -> None:
        """Raise ``ValueError`` where the env's mechanism is missing, set differently, or not what the radius is for."""
        mechanism = env.mechanism
        if mechanism is None:
            raise ValueError(f"{self.name} needs an env with a privacy mechanism, such as DistDP-v0")
        for name in self.shared:
            mine, its = getattr(self, name), getattr(mechanism, name, None)
            if its is None:
                raise ValueError(f"{self.name} needs a mechanism with {name}; {mechanism.name} has none")
            if mine is not None and mine != its:
                raise ValueError(f"{name}={mine!r} of {self.name} differs from {name}={its!r} of {mechanism.name}")
            setattr(self, f"_{name}", its)
        self._own_radius = self._meets(mechanism)
        self._p = confidence_level(self._confidence, env.horizon)

    def reset(self, env: World, seeds: Seeds) -> None:
        self.meets(env)  # a team may be started without a meeting
        shape = (len(seeds), env.n_agents)
        self._horizon = env.horizon
        self._active = np.ones((*shape, env.n_arms), bool)
        self._mean = np.zeros((*shape, env.n_arms))
        # where every decision so far put an arm's mean: its truth is not known here
        self._least, self._most = np.full((*shape, env.n_arms), -np.inf), np.full((*shape, env.n_arms), np.inf)
        self._phase = np.ones(shape, np.int64)
        self._arm = np.zeros(shape, np.int64)
        self._n = np.full(shape, self._block(env.n_arms, 1), np.int64)
        self._heard = np.full(shape, env.horizon, np.int64)  # fewest users behind a mean of this phase

    def _block(self, m: int, b: int) -> int:
        # Longer than the horizon is as long as the horizon: the env cuts there.
        return int(min(self.length(m, b), self._horizon)) if m > 1 else self._horizon

    def estimate(self, r: int, i: int, k: int, total: float, n: int) -> float:
        """Mean of arm k of agent i in run r, after its block of n users with sum `total`: this phase's data only."""
        return total / n

    def interval(self, r: int, i: int, m: int, b: int) -> float:
        """Half width of m active arms' intervals in phase b (run r, agent i): `width` at the phase's shortest block."""
        return self.width(m, b, int(self._heard[r, i]))

    def act(self, obs: Obs) -> tuple[Array, Array]:
        return self._arm, self._n

    def hear(self, inbox: Inbox) -> None:
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
        """``covered`` (R,): whether all means that decided anything were within their width of the truth.

        With ``calibrated=False`` also ``uncalibrated`` (R,): the width is not that of the mechanism's noise.
        """
        truth = env.means[:, None]
        covered = np.all((self._least <= truth) & (truth <= self._most), axis=(1, 2))
        marks = {} if self.calibrated else {"uncalibrated": np.full(len(covered), not self._own_radius)}
        return {"covered": covered, **marks}
