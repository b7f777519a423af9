"""Base of feedback agents whose confidence radius is calibrated to the noise of one mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from hushbandits.core import Array, Metric, Params, Requirements, Team, World, Wrapper, divisor, flag


class Calibrated(Team):
    """Base of agents whose confidence radius holds for the noise of one mechanism with the same ε.

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
    _min_participants: float
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
        """Require a mechanism with the agent's ε and p, by default the mechanism of the agent's paper."""
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
                f"{self.name} has a radius for the noise of {' and '.join(self.mechanisms)}, not for that of {noise}; "
                f"require_calibrated=False runs it anyway and marks the result"
            )

    def _validate_env(self, mechanism: Wrapper) -> bool:
        if not self.mechanisms:
            return True
        noise = str(getattr(mechanism, "noise_as", "") or type(mechanism).__name__)
        if not self._fits(noise):
            self._uncalibrated(noise if noise == mechanism.name else f"{mechanism.name} ({noise})")
            return False
        fixed = (
            self.fixed if self.counts_survivors else {**self.fixed, "min_participants": 1.0}
        )  # below 1 there is more noise
        for name, value in fixed.items():
            if getattr(mechanism, name, value) != value:
                self._uncalibrated(f"{mechanism.name} with {name}={getattr(mechanism, name)!r}")
                return False
        return True

    def validate_env(self, env: World) -> None:
        """Raise ``ValueError`` if the env's mechanism is missing, has other parameters, or does not fit the radius."""
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
        self._min_participants = getattr(mechanism, "min_participants", 1.0)

    def _marks(self, runs: int) -> dict[str, Array]:
        """Return the metric ``uncalibrated`` (runs,) if ``require_calibrated=False`` and the radius does not fit."""
        return {} if self.require_calibrated else {"uncalibrated": np.full(runs, not self._own_radius)}
