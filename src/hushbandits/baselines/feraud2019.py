"""What Féraud et al. 2019 compare with: 0-Privacy shares every reward, 1-Privacy shares nothing (section 5.1)."""

from __future__ import annotations

from hushbandits.core.ground.types import Seeds
from hushbandits.core.ground.validate import choice, divisor, real
from hushbandits.core.team import Protocol
from hushbandits.core.world import World
from hushbandits.envs.exploration.voting import VotingTeam
from hushbandits.routines.best_arm import ROUTINES, arm_selection, reset_rate
from hushbandits.routines.routine import Routine

__all__ = ["OnePrivacy", "ZeroPrivacy"]


class _Baseline(VotingTeam):
    level = ""
    plays_on = True

    def __init__(self, routine: str = "SER3", epsilon: float = 0.25, delta: float = 0.05, phi: float | None = None):
        self.routine_name = choice("routine", routine, ROUTINES)
        self.epsilon = divisor("epsilon", epsilon, 1, closed="high")
        self.delta = real("delta", delta, 0, 1)
        self.phi = reset_rate(self.routine_name, phi)

    @property
    def name(self) -> str:
        """As registered."""
        return f"{self.level}-Privacy-{self.routine_name}"

    def _ask(self, **env: object) -> Protocol:
        return Protocol(env={"idle": "stays", "single": True, "vote_cost": 0, "precision": self.epsilon, **env})


class ZeroPrivacy(_Baseline):
    """One player on all samples, at confidence 1 − δ; each sample goes to the other N − 1 (Féraud et al. 2019, § 5.1).

    Parameters
    ----------
    routine : str
        One of `hushbandits.routines.best_arm.ROUTINES`.
    epsilon, delta : float
        ε and δ.
    phi : float, optional
        φ of SER4, which plays on to the horizon: probability of a reset per activation, 1e-4 unless given.

    Examples
    --------
    >>> import hushbandits as hb
    >>> results = hb.evaluate("DecentralizedExploration-v0", "0-Privacy-LUCB", runs=2, env={"n_agents": 4})
    >>> bool((results.final("messages") == 3 * results.final("rounds")).all())
    True
    """

    level = "0"
    shared = True

    def protocol(self, settings: dict[str, object]) -> Protocol:
        """Its word is final: one vote removes an arm."""
        end = {"stop": "coordinator"} if self.phi is None else {"stop": "horizon", "resets": True}
        return self._ask(threshold=0, comparison=">", round_cost="others", **end)

    def routine(self, n_arms: int) -> Routine:
        """Arm selection at confidence 1 − δ."""
        return arm_selection(self.routine_name, n_arms, self.delta, self.epsilon, self.phi)


class OnePrivacy(_Baseline):
    """Every player alone, at confidence 1 − δ/N, until each holds one arm; no messages (Féraud et al. 2019, § 5.1).

    Parameters
    ----------
    routine : str
        One of `hushbandits.routines.best_arm.ROUTINES`.
    epsilon, delta : float
        ε and δ.
    phi : float, optional
        φ of SER4, which plays on to the horizon: probability of a reset per activation, 1e-4 unless given;
        a reset concerns only the player that it happens to.

    Examples
    --------
    >>> import hushbandits as hb
    >>> results = hb.evaluate("DecentralizedExploration-v0", "1-Privacy-LUCB", runs=2, env={"n_agents": 4})
    >>> int(results.final("messages").max())
    0
    """

    level = "1"

    def protocol(self, settings: dict[str, object]) -> Protocol:
        """Votes are notes that the players keep: they remove nothing and cost nothing."""
        return self._ask(judge="everyone", stop="players" if self.phi is None else "horizon")

    def meets(self, env: World) -> None:
        """As its base, at the players' confidence."""
        self._confidence = self.delta / env.n_agents
        super().meets(env)

    def reset(self, env: World, seeds: Seeds) -> None:
        """δ is split among the players."""
        self._confidence = self.delta / env.n_agents
        super().reset(env, seeds)

    def routine(self, n_arms: int) -> Routine:
        """Arm selection at confidence 1 − δ/N."""
        return arm_selection(self.routine_name, n_arms, self._confidence, self.epsilon, self.phi, alone=True)
