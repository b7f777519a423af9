"""Base classes of feedback agents, for radii that depend on the mechanism and for successive elimination.

`SuccessiveElimination` is algorithm 1 of Chowdhury & Zhou 2023 without batches and radius; `BatchedSE` adds the
paper's batches and the radius of its lemma 2.
"""

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from hushbandits.best_arm.private_elimination import batch_radius, eliminate
from hushbandits.core import Array, Inbox, Metric, Observation, Params, Requirements, Streams, Team, World, Wrapper
from hushbandits.core.utils import divisor, flag, lean, real
from hushbandits.core.wrapper import Privatizer
from hushbandits.privacy.plans import confidence_level


class Calibrated(Team):
    """Base of agents whose confidence radius is proven for the noise of certain mechanisms.

    The mechanism must have the agent's ε.

    Parameters
    ----------
    epsilon : float, optional
        ε of the env's mechanism; left out, the env's own.  The same ε sets the radius.
    require_calibrated : bool
        A radius is proven for the noise of certain mechanisms (`mechanisms`); with any other mechanism, the agent
        would decide too late or too early, and raises an error.  False allows any mechanism; the metric
        ``uncalibrated`` then marks the runs.

    Raises
    ------
    ValueError
        The env has no mechanism, one with another ε, or one that the radius was not made for.

    Notes
    -----
    A user-defined mechanism may add noise to a block's sum whose tails are no heavier than those of a built-in one.
    It then declares this by a class attribute, such as ``noise_as = "DiscreteLaplace"``.
    """

    setting = "feedback"
    required_inbox = ("reward", "n")
    metrics_spec: Mapping[str, Metric] = {
        "uncalibrated": Metric("share of runs with a radius made for another mechanism", "rate"),
    }
    #: Parameters that agent and mechanism share, because they enter the radius.
    shared: tuple[str, ...] = ("epsilon",)
    _epsilon: float
    _mechanism: Privatizer
    #: Mechanisms that the radius holds for, by class name or by ``noise_as``; empty: no statement.
    mechanisms: ClassVar[tuple[str, ...]] = ()
    #: Whether the radius remains valid if noise is calibrated to some of a block's users (``min_participants``).
    counts_survivors: ClassVar[bool] = False
    #: Parameters of the mechanism that the algorithm fixes.
    fixed: ClassVar[Params] = {}
    #: The protocol's wrappers, for an env that has none; the first is the mechanism.
    wrappers: ClassVar[tuple[str, ...]] = ("DiscreteLaplace", "SecAgg")

    def __init__(self, epsilon: float | None = None, *, require_calibrated: bool = True):
        self.epsilon = epsilon if epsilon is None else divisor("epsilon", epsilon)
        self.require_calibrated = flag("require_calibrated", require_calibrated)

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require that the mechanism's parameters in `shared` have the agent's values.

        An env without a mechanism gets the one of the agent's paper.
        """
        given = {name: getattr(self, name) for name in self.shared if getattr(self, name) is not None}
        there = settings.get("mechanism", True)
        if isinstance(there, str) and there and there not in self.wrappers and not self._fits(there):
            self._uncalibrated(there)
            return Requirements(env=given)  # the fixed parameters belong to another mechanism
        given |= self.fixed
        if there:
            return Requirements(env=given)
        mechanism, *secure = self.wrappers
        kind = {name: value for name, value in given.items() if name == "shuffle"}  # both halves of a shuffle know it
        return Requirements(wrappers=((mechanism, given), *((name, kind) for name in secure)))

    def _fits(self, mechanism: str) -> bool:
        return not self.mechanisms or mechanism in self.mechanisms

    def _uncalibrated(self, noise: str) -> None:
        if self.require_calibrated:
            raise ValueError(
                f"{self.name} is calibrated to the noise of {' and '.join(self.mechanisms)}, not to that of {noise}; "
                f"require_calibrated=False lets the agent play, and the metric 'uncalibrated' marks the runs"
            )

    def _validate_env(self, mechanism: Wrapper) -> bool:
        if not self.mechanisms:
            return True
        noise = str(getattr(mechanism, "noise_as", "") or type(mechanism).__name__)
        if not self._fits(noise):
            self._uncalibrated(noise if noise == mechanism.name else f"{mechanism.name} ({noise})")
            return False
        # With fewer participants there is more noise.
        fixed = self.fixed if self.counts_survivors else {**self.fixed, "min_participants": 1.0}
        for name, value in fixed.items():
            if getattr(mechanism, name, value) != value:
                self._uncalibrated(f"{mechanism.name} with {name}={getattr(mechanism, name)!r}")
                return False
        return True

    def validate_env(self, env: World) -> None:
        """Raise ``ValueError`` if the env has no mechanism, or if a parameter in `shared` differs from the agent's.

        A parameter that the agent leaves out is not compared.

        With `require_calibrated`, raise it also for noise that the radius is not made for.
        """
        mechanism = env.mechanism
        if mechanism is None:
            raise ValueError(f"{self.name} needs an env, such as DistDP-v0, with a privacy mechanism")
        for name in self.shared:
            mine, its = getattr(self, name), getattr(mechanism, name, None)
            if its is None:
                raise ValueError(f"{self.name} needs a mechanism with {name}; {mechanism.name} has no {name}")
            if mine is not None and mine != its:
                raise ValueError(f"{name}={mine!r} of {self.name} must equal {name}={its!r} of {mechanism.name}")
            setattr(self, f"_{name}", its)
        self._own_radius = self._validate_env(mechanism)
        self._mechanism = mechanism

    def _marks(self, runs: int) -> dict[str, Array]:
        """Return ``uncalibrated`` (runs,): whether the radius was made for another mechanism.

        The dict is empty if ``require_calibrated=True``.
        """
        return {} if self.require_calibrated else {"uncalibrated": np.full(runs, not self._own_radius)}


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
        self._widths: dict[tuple[int, int, int], float] = {}  # by active arms, phase and fewest users
        self._active, self._mean = np.ones((*shape, env.n_arms), bool), np.zeros((*shape, env.n_arms))
        # bounds on an arm's mean from all decisions so far; the true mean is unknown here
        self._least, self._most = np.full((*shape, env.n_arms), -np.inf), np.full((*shape, env.n_arms), np.inf)
        self._phase, self._arm = np.ones(shape, np.int64), np.zeros(shape, np.int64)
        self._n = np.full(shape, self._block(env.n_arms, 1), np.int64)
        self._heard = np.full(shape, env.horizon, np.int64)  # fewest users behind a mean of this phase

    def _block(self, m: int, b: int) -> int:
        # The env cuts a block at the horizon.
        return int(min(self.length(m, b), self._horizon)) if m > 1 else self._horizon

    def estimate(self, total: Array, n: Array) -> Array:
        """Return the mean of each server's present arm, ``(R, M)``, from the sums of blocks of n users; n may be 0."""
        return total / np.maximum(n, 1)

    def interval(self, r: int, i: int, m: int, b: int) -> float:
        """Return the half width of a confidence interval in phase b with m active arms, for agent i in run r.

        It is the `width` for the fewest users behind a mean of this phase.
        """
        phase = m, b, self._heard.item(r, i)
        if phase not in self._widths:
            self._widths[phase] = self.width(*phase)
        return self._widths[phase]

    def act(self, obs: Observation) -> tuple[Array, Array]:
        return self._arm, self._n

    def receive(self, inbox: Inbox) -> None:
        n = inbox.total("n")
        estimates, over = self.estimate(inbox.total("reward"), n), np.zeros(n.shape, np.int64)
        _next_arm(inbox.arrived[:, :, 0], estimates, n, self._active, self._arm, self._mean, self._heard, over)
        if not np.count_nonzero(over):
            return
        at = np.nonzero(over)
        m, b = over[at], self._phase[at]
        ended = zip(*(each.tolist() for each in (*at, m, b)), strict=True)
        widths = np.array([self.interval(*phase) if phase[2] > 1 else math.inf for phase in ended])
        _end_phases(*at, widths, self._mean, self._active, self._least, self._most, self._arm, self._phase, m)
        self._heard[at] = self._horizon
        phases = list(zip(m.tolist(), self._phase[at].tolist(), strict=True))
        sizes = {phase: self._block(*phase) for phase in set(phases)}
        self._n[at] = [sizes[phase] for phase in phases]

    def metrics(self, env: World) -> dict[str, Array]:
        """Return ``covered`` (R,): whether all confidence intervals used to eliminate arms contain the true means.

        With ``require_calibrated=False`` also ``uncalibrated`` (R,): the width is not that of the mechanism's noise.
        """
        truth = env.means[:, None]
        covered = np.all((self._least <= truth) & (truth <= self._most), axis=(1, 2))
        return {"covered": covered, **self._marks(len(covered))}


@lean
def _next_arm(arrived, estimates, n, active, arm, mean, heard, over):  # type: ignore[no-untyped-def]
    """Store the estimates that arrived and go to the next active arm; where a phase is over, count active arms."""
    for r, i in np.ndindex(arrived.shape):
        if arrived[r, i]:
            mean[r, i, arm[r, i]], heard[r, i] = estimates[r, i], min(heard[r, i], n[r, i])
            later = active[r, i, arm[r, i] + 1 :]
            if later.any():
                arm[r, i] += 1 + later.argmax()
            else:
                over[r, i] = active[r, i].sum()


@lean
def _end_phases(runs, servers, widths, mean, active, least, most, arm, phase, left):  # type: ignore[no-untyped-def]
    """Tighten the bounds on the servers' means, eliminate arms, and write how many are `left`."""
    for e in range(runs.size):
        r, i, width = runs[e], servers[e], widths[e]
        for k in range(mean.shape[2]):
            if active[r, i, k]:
                least[r, i, k] = max(least[r, i, k], mean[r, i, k] - width)
                most[r, i, k] = min(most[r, i, k], mean[r, i, k] + width)
        left[e] = eliminate(mean[r, i], active[r, i], width)
        arm[r, i] = active[r, i].argmax()
        phase[r, i] += 1


class BatchedSE(SuccessiveElimination):
    """Base of agents that run algorithm 1 of Chowdhury & Zhou 2023.

    Batch b has ``l(b) = ⌈η^b⌉`` users per active arm unless `first` is set, and its radius is ``β(b)`` of lemma 2.

    It drops arm a if ``μ̂_a + β(b) < max_a' (μ̂_a' − β(b))``, and uses this batch's data alone.

    Parameters
    ----------
    batch_growth : float
        η > 1: 2 in the paper, 4 in its authors' code.
    """

    #: ``l(1)``; by default η.
    first: ClassVar[float | None] = None

    def __init__(
        self,
        epsilon: float | None = None,
        confidence: float | str | None = None,
        batch_growth: float = 2.0,
        *,
        require_calibrated: bool = True,
    ):
        super().__init__(epsilon, confidence, require_calibrated=require_calibrated)
        self.batch_growth = real("batch_growth", batch_growth, 1)

    def noise(self) -> tuple[float, float]:
        """Return ``(σ, h)``: the noise on a sum is below ``σ√ln(2/p) + h ln(2/p)`` with probability 1 − p."""
        raise NotImplementedError(f"{type(self).__name__} must define noise()")

    def length(self, m: int, b: int) -> float:
        if b * math.log2(self.batch_growth) > 60:
            return math.inf
        return math.ceil((self.first or self.batch_growth) * self.batch_growth ** (b - 1))

    def width(self, m: int, b: int, n: int) -> float:
        return batch_radius(m, b, self._p, n, *self.noise())

    def _counted(self, m: int, b: int) -> tuple[int, int]:
        """Return the number of users in a block of phase b, and the number to which the noise is calibrated."""
        planned = self._block(m, b)
        return planned, self._mechanism.sure(planned)
