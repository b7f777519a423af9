"""What agents of the feedback setting share whose radius is made for the noise of one mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from hushbandits.core import Array, Metric, Params, Protocol, Team, World, Wrapper, divisor, flag


class Calibrated(Team):
    """Base: an agent whose radius holds for one mechanism's noise, and which shares ε with that mechanism.

    Parameters
    ----------
    epsilon : float, optional
        ε of the env's mechanism; left out, the env's own.  The same ε sets the radius.
    calibrated : bool
        A radius is proven for one mechanism's noise (`mechanisms`); with any other the agent would decide too late or
        too boldly, and is refused.  False: it plays all the same, and the metric ``uncalibrated`` says where.

    Raises
    ------
    ValueError
        The env has no mechanism, one with another ε, or one that the radius was not made for.

    Notes
    -----
    A mechanism of one's own whose noise on a block's sum has tails no heavier than that of a shipped one says so by a
    class attribute, ``noise_as = "DiscreteLaplace"``.
    """

    setting = "feedback"
    hears = ("reward", "n")
    measures: Mapping[str, Metric] = {
        "uncalibrated": Metric("share of runs with a radius made for another mechanism", "rate"),
    }
    #: The mechanism's parameters that enter the radius, and belong to agent and mechanism alike.
    shared: tuple[str, ...] = ("epsilon",)
    _epsilon: float
    _t_min: float
    #: Mechanisms (classes by name, or what they call themselves in ``noise_as``) that its radius holds for; empty: it
    #: makes no statement.
    mechanisms: ClassVar[tuple[str, ...]] = ()
    #: Whether its radius follows the mechanism where noise is calibrated to some of a block's users (``t_min``).
    counts_survivors: ClassVar[bool] = False
    #: Parameters of the mechanism that the algorithm fixes.
    fixed: ClassVar[Params] = {}
    #: The protocol's wrappers, for an env that has none; the first is the mechanism.
    wrappers: ClassVar[tuple[str, ...]] = ("DiscreteLaplace", "SecAgg")

    def __init__(self, epsilon: float | None = None, *, calibrated: bool = True):
        self.epsilon = epsilon if epsilon is None else divisor("epsilon", epsilon)
        self.calibrated = flag("calibrated", calibrated)

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

    def _validate_env(self, mechanism: Wrapper) -> bool:
        if not self.mechanisms:
            return True
        noise = str(getattr(mechanism, "noise_as", "") or type(mechanism).__name__)
        if not self._fits(noise):
            self._uncalibrated(noise if noise == mechanism.name else f"{mechanism.name} ({noise})")
            return False
        fixed = self.fixed if self.counts_survivors else {**self.fixed, "t_min": 1.0}  # below 1 there is more noise
        for name, value in fixed.items():
            if getattr(mechanism, name, value) != value:
                self._uncalibrated(f"{mechanism.name} with {name}={getattr(mechanism, name)!r}")
                return False
        return True

    def validate_env(self, env: World) -> None:
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
        self._own_radius = self._validate_env(mechanism)
        self._t_min = getattr(mechanism, "t_min", 1.0)

    def _marks(self, runs: int) -> dict[str, Array]:
        """With ``calibrated=False``, the metric ``uncalibrated`` (runs,): the radius is not the mechanism's."""
        return {} if self.calibrated else {"uncalibrated": np.full(runs, not self._own_radius)}
