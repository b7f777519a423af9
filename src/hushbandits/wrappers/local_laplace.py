"""Local Laplace noise on every reported reward."""

from __future__ import annotations

from typing import Any

from hushbandits.core.env import Env
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.messages import Fields, require
from hushbandits.core.types import Seeds
from hushbandits.core.validate import real
from hushbandits.core.wrapper import Wrapper
from hushbandits.privacy.laplace import laplaces
from hushbandits.privacy.samplers import Laplace

__all__ = ["LocalLaplace"]


class LocalLaplace(Wrapper):
    """Each report's reward gets its own ``Lap(1/ε)``: ε-local differential privacy per report.

    Parameters
    ----------
    epsilon : float
        ε per report, for rewards in [0, 1] (sensitivity 1).
    name : str, optional

    Raises
    ------
    ValueError
        ε ≤ 0; a reward law outside [0, 1]; a message without ``reward``.

    References
    ----------
    Dwork, McSherry, Nissim & Smith 2006 (Laplace mechanism).

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.make_vec("CoopNetwork-v0", wrappers=[LocalLaplace(0.5)]).privacy()[0].epsilon
    0.5
    """

    settings = frozenset({"network", "feedback"})

    def __init__(self, epsilon: float = 1.0, *, name: str | None = None):
        super().__init__(name=name)
        self.epsilon = real("epsilon", epsilon, 0)

    def accept(self, fields: Fields, env: Env) -> Fields:
        """Needs ``reward``, in [0, 1]."""
        require(self.name, ("reward",), fields)
        if not env.law.unit_interval:
            raise ValueError(f"{self.name} needs rewards in [0, 1], not {env.law!r}")
        return fields

    def reset(self, env: Env, seeds: Seeds) -> None:
        """Open the tape."""
        self._users = self.generators(seeds)
        self._luck = self.uniforms(seeds, (env.n_agents,), "/reports")

    def send(self, message: dict[str, Any], env: Env) -> dict[str, Any]:
        """Add noise at the source."""
        if env.setting == "feedback":
            noise = Laplace(1.0 / self.epsilon)
            return {**message, "reward": message["reward"].add(lambda n: noise, self._users)}
        return {**message, "reward": message["reward"] + laplaces(self._luck.next(), 1.0 / self.epsilon)}

    def privacy(self, env: Env) -> tuple[Guarantee, ...]:
        """ε per report; reports of one agent compose."""
        return (
            Guarantee(
                mechanism=f"Laplace(1/{self.epsilon:g}) on each reported reward",
                epsilon=self.epsilon,
                delta=0.0,
                adjacency="one report's reward replaced by any other in [0, 1]; a sender's reports compose additively",
                view="everyone but the sender; its arm is not hidden",
                assumptions=("rewards in [0, 1]", "idealised floating point", "seeded noise is a simulation"),
                source="Dwork et al. 2006",
            ),
        )
