"""Local differential privacy: every user's message is private by itself."""

from __future__ import annotations

from functools import partial

from hushbandits.core.guarantee import ONCE, ONE_USER, Guarantee
from hushbandits.core.world import World
from hushbandits.privacy.accounting import pure_curve
from hushbandits.privacy.ledger import Spent
from hushbandits.privacy.noise import Profile
from hushbandits.privacy.plans import Plan, local_pure
from hushbandits.wrappers.mechanism import Mechanism

__all__ = ["LocalDiscreteLaplace"]


class LocalDiscreteLaplace(Mechanism):
    """Every user adds Lap_ℤ(g/ε) to its encoded reward: nobody needs to be trusted, and the noise adds up.

    ``g = ⌈ε√n⌉``; τ is the 1 − p quantile of the sum of n draws, computed (the paper leaves a constant unnamed).

    Parameters
    ----------
    epsilon : float
        ε > 0.
    confidence : float or "1/T"
        p.
    sampler, name
        As in `Mechanism`.

    References
    ----------
    Chowdhury & Zhou 2023, theorem 6.

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.make_core("LocalDP-v0", epsilon=0.5).privacy()[0].view
    'everyone but the user'
    """

    hidden_by = "noise"

    def __init__(
        self,
        epsilon: float = 1.0,
        confidence: float | str = 0.1,
        sampler: str = "fast",
        *,
        name: str | None = None,
    ):
        super().__init__(epsilon, confidence, 1.0, sampler, name=name)

    def plan(self, n: int) -> Plan:
        """Theorem 6."""
        return local_pure(n, self.epsilon, self._p)

    def price(self, n: int, survivors: int) -> Spent:
        """ε: a message is private by itself."""
        return Spent(self.epsilon, 0.0, pure_curve(self.epsilon), partial(self.seen, n, survivors))

    def seen(self, n: int, survivors: int) -> Profile | None:
        """One user's own noise."""
        return super().seen(n, 1)

    def promises(self, env: World) -> tuple[Guarantee, ...]:
        """ε against everyone."""
        return (
            Guarantee(
                mechanism=f"Lap_ℤ(g/ε) on every encoded reward, g = ⌈ε√n⌉, ε = {self.epsilon:g}",
                epsilon=self.epsilon,
                delta=0.0,
                adjacency=ONE_USER,
                run=ONCE,
                view="everyone but the user",
                assumptions=self._arithmetic(),
                source="Chowdhury & Zhou 2023, theorem 6",
            ),
        )
