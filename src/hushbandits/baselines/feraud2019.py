"""What Féraud et al. 2019 compare with: 0-Privacy shares every reward, 1-Privacy shares nothing (section 5.1)."""

from __future__ import annotations

from typing import Any

from hushbandits.core.world import World
from hushbandits.core.team import Protocol
from hushbandits.core.types import Seeds
from hushbandits.core.validate import choice, real
from hushbandits.envs.exploration.voting import VotingTeam
from hushbandits.policies.routine import Routine
from hushbandits.policies.best_arm import ROUTINES
from hushbandits.policies.racing import ser4

__all__ = ["OnePrivacy", "OnePrivacySER4", "ZeroPrivacy", "ZeroPrivacySER4"]


class _Baseline(VotingTeam):
    level = ""

    def __init__(self, routine: str = "SER3", epsilon: float = 0.25, delta: float = 0.05):
        self.routine_name = choice("routine", routine, ROUTINES)
        self.epsilon = real("epsilon", epsilon, 0, 1, closed="high")
        self.delta = real("delta", delta, 0, 1)

    @property
    def name(self) -> str:
        """As registered."""
        return f"{self.level}-Privacy-{self.routine_name}"

    def _ask(self, **env: Any) -> Protocol:
        return Protocol(env={"idle": "stays", "single": True, "vote_cost": 0, "precision": self.epsilon, **env})


class ZeroPrivacy(_Baseline):
    """One player on all samples, at confidence 1 − δ; each sample goes to the other N − 1 players.

    Parameters
    ----------
    routine : str
        One of `hushbandits.policies.best_arm.ROUTINES`.
    epsilon, delta : float
        ε and δ.

    Examples
    --------
    >>> import hushbandits as hb
    >>> results = hb.evaluate("DecentralizedExploration-v0", "0-Privacy-LUCB", runs=2, env={"n_agents": 4})
    >>> bool((results.final("messages") == 3 * results.final("rounds")).all())
    True
    """

    level = "0"
    shared = True

    def protocol(self, settings: dict[str, Any]) -> Protocol:
        """Its word is final: one vote removes an arm."""
        return self._ask(threshold=0, comparison=">", stop="coordinator", round_cost="others")

    def routine(self, n_arms: int) -> Routine:
        """Arm selection at confidence 1 − δ."""
        return ROUTINES[self.routine_name](n_arms, self.delta, self.epsilon)


class OnePrivacy(_Baseline):
    """Every player alone, at confidence 1 − δ/N, until each holds one arm; no messages.

    Parameters
    ----------
    routine : str
        One of `hushbandits.policies.best_arm.ROUTINES`.
    epsilon, delta : float
        ε and δ.

    Examples
    --------
    >>> import hushbandits as hb
    >>> results = hb.evaluate("DecentralizedExploration-v0", "1-Privacy-LUCB", runs=2, env={"n_agents": 4})
    >>> int(results.final("messages").max())
    0
    """

    level = "1"

    def protocol(self, settings: dict[str, Any]) -> Protocol:
        """Votes are notes that the players keep: they remove nothing and cost nothing."""
        return self._ask(judge="everyone", stop="players")

    def reset(self, env: World, seeds: Seeds) -> None:
        """δ is split among the players."""
        self._confidence = self.delta / env.n_agents
        super().reset(env, seeds)

    def routine(self, n_arms: int) -> Routine:
        """Arm selection at confidence 1 − δ/N."""
        return ROUTINES[self.routine_name](n_arms, self._confidence, self.epsilon)


class ZeroPrivacySER4(ZeroPrivacy):
    """`ZeroPrivacy` over SER4, to the horizon.

    Parameters
    ----------
    epsilon, delta : float
        ε and δ.
    phi : float
        φ: probability of a reset per activation.

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.make_team("0-Privacy-SER4", phi=0.001).name
    '0-Privacy-SER4'
    """

    def __init__(self, epsilon: float = 0.25, delta: float = 0.05, phi: float = 1e-4):
        super().__init__("SER4", epsilon, delta)
        self.phi = real("phi", phi, 0, 1, closed="both")

    def protocol(self, settings: dict[str, Any]) -> Protocol:
        """As `ZeroPrivacy`, with resets, until the horizon."""
        ask = super().protocol(settings).env
        return Protocol(env={**ask, "stop": "horizon", "resets": True})

    def routine(self, n_arms: int) -> Routine:
        """SER4 at confidence 1 − δ."""
        return ser4(n_arms, self.delta, self.epsilon, self.phi)


class OnePrivacySER4(OnePrivacy):
    """`OnePrivacy` over SER4, to the horizon: a reset concerns only the player that it happens to.

    Parameters
    ----------
    epsilon, delta : float
        ε and δ.
    phi : float
        φ: probability of a reset per activation.

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.make_team("1-Privacy-SER4", phi=0.001).phi
    0.001
    """

    def __init__(self, epsilon: float = 0.25, delta: float = 0.05, phi: float = 1e-4):
        super().__init__("SER4", epsilon, delta)
        self.phi = real("phi", phi, 0, 1, closed="both")

    def protocol(self, settings: dict[str, Any]) -> Protocol:
        """As `OnePrivacy`, until the horizon."""
        return Protocol(env={**super().protocol(settings).env, "stop": "horizon"})

    def routine(self, n_arms: int) -> Routine:
        """SER4 at confidence 1 − δ/N, whose resets are its own."""
        return ser4(n_arms, self._confidence, self.epsilon, self.phi, alone=True)
