"""Distributed differential privacy: users randomize, a secure function adds up, the analyzer decodes.

Chowdhury & Zhou 2023, algorithm 1: `send` is the local randomizer R, `deliver` the analyzer A; the secure function S
between them is a wrapper of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushbandits.core.crowd import BlockInbox, Crowd
from hushbandits.core.env import Env
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.messages import Field, Fields, Inbox, require
from hushbandits.core.types import Array, Seeds
from hushbandits.core.validate import real
from hushbandits.core.wrapper import Wrapper
from hushbandits.privacy.plans import Plan, confidence_level, distributed_pure

__all__ = ["DiscreteLaplace", "Mechanism"]


class Mechanism(Wrapper):
    """Base of the protocols: ``y = (x̂ + η) mod m`` at each user, ``z ≈ Σ x`` at the server.

    A subclass plans a block (`plan`) and states its guarantee (`privacy`).

    Parameters
    ----------
    epsilon : float
        ε > 0.
    confidence : float or "1/T"
        p: the probability that a block's noise exceeds τ and its sum is decoded wrongly.
    name : str, optional
    """

    settings = frozenset({"feedback"})
    decodes = True

    def __init__(self, epsilon: float = 1.0, confidence: float | str = 0.1, *, name: str | None = None):
        super().__init__(name=name)
        self.epsilon = real("epsilon", epsilon, 0)
        self.confidence = confidence
        confidence_level(confidence, 2)

    def plan(self, n: int) -> Plan:
        """Parameters of a block planned for `n` users."""
        raise NotImplementedError(f"{type(self).__name__} must define plan(n)")

    def accept(self, fields: Fields, env: Env) -> Fields:
        """Needs ``reward``, not yet encoded; makes it integers with a ``modulus``."""
        require(self.name, ("reward", "n"), fields)
        if "modulus" in fields:
            raise ValueError(f"{self.name} needs raw rewards, but another mechanism has encoded them already")
        self._p = confidence_level(self.confidence, env.horizon)
        return {**fields, "reward": Field(dtype="i8"), "modulus": Field(dtype="i8")}

    def reset(self, env: Env, seeds: Seeds) -> None:
        """Open the tape."""
        self._rngs = self.generators(seeds)
        self._plans: dict[int, Plan] = {}

    def _plan(self, n: int) -> Plan:
        if n not in self._plans:
            self._plans[n] = self.plan(n)
        return self._plans[n]

    def _of(self, attribute: str) -> Array:
        values = [[getattr(self._plan(n), attribute) if n else 1 for n in row] for row in self._planned.tolist()]
        return np.array(values, np.int64)

    def send(self, message: dict[str, Any], env: Env) -> dict[str, Any]:
        """The local randomizer R (lines 18–22): encode, add noise, reduce mod m."""
        crowd: Crowd = message["reward"]
        self._planned = crowd.planned
        modulus = self._of("modulus")
        crowd = self._noised(crowd.encode(self._of("g"), self._rngs)).modulo(modulus)
        return {**message, "reward": crowd, "modulus": modulus, "bits": self._of("bits")}

    def _noised(self, crowd: Crowd) -> Crowd:
        return crowd.add(lambda n: self._plan(n).noise, self._rngs)  # type: ignore[arg-type, return-value]

    def deliver(self, inbox: Inbox, env: Env) -> Inbox:
        """The analyzer A (lines 26–31)."""
        assert isinstance(inbox, BlockInbox)
        y, n = inbox.total("reward"), inbox.total("n")
        z = np.zeros(y.shape)
        for r, m in zip(*np.nonzero(n), strict=True):
            plan = self._plan(int(self._planned[r, m]))
            z[r, m] = plan.decode(int(y[r, m]) % plan.modulus, int(n[r, m]))
        return inbox.decoded(z)

    def _sealed(self, env: Env) -> bool:
        """Whether a secure function behind this mechanism hides the individual messages."""
        wrappers = list(env.wrappers)
        at = next(i for i, w in enumerate(wrappers) if w.name == self.name)
        return any(w.aggregates for w in wrappers[at + 1 :])


class DiscreteLaplace(Mechanism):
    """Distributed pure DP: every user adds a difference of Pólya draws, and the sum is discrete Laplace.

    For n users: ``g = ⌈ε√n⌉``, ``η = γ⁺ − γ⁻`` with γ ~ Pólya(1/n, e^(−ε/g)), ``τ = ⌈(g/ε) ln(2/p)⌉``,
    ``m = ng + 2τ + 1``.

    Parameters
    ----------
    epsilon : float
        ε > 0.
    confidence : float or "1/T"
        p.
    name : str, optional

    References
    ----------
    Chowdhury & Zhou 2023, theorem 1.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_vec("DistDP-v0", epsilon=0.5)
    >>> env.wrappers
    (DiscreteLaplace(epsilon=0.5, confidence=0.1), SecAgg(min_cohort=2, grid=65536))
    >>> env.privacy()[0].epsilon
    0.5
    """

    def plan(self, n: int) -> Plan:
        """Theorem 1."""
        return distributed_pure(n, self.epsilon, self._p)

    def privacy(self, env: Env) -> tuple[Guarantee, ...]:
        """ε where a secure function hides the individual messages; nothing where it does not."""
        sealed = self._sealed(env)
        return (
            Guarantee(
                mechanism=f"Lap_ℤ(g/ε) on a block's sum, g = ⌈ε√n⌉, ε = {self.epsilon:g}, as n Pólya shares",
                epsilon=self.epsilon if sealed else float("inf"),
                delta=0.0,
                adjacency="one user's reward replaced by any other in [0, 1]; a user takes part once",
                view="the server: modular sums of blocks" if sealed else "the server: every user's message",
                assumptions=(
                    "all planned users of a block take part and add their noise"
                    if sealed
                    else "a secure function behind the mechanism, which this env lacks: one user's share hides nothing",
                    "the secure function reveals the modular sum only",
                    "idealised floating point",
                    "seeded noise is a simulation",
                ),
                source="Chowdhury & Zhou 2023, theorem 1",
            ),
        )
