"""Baselines of Féraud et al. 2019: 0-Privacy, which shares every reward, and 1-Privacy, which shares nothing."""

from hushbandits.agents.feraud2019 import ArmSelection
from hushbandits.best_arm.routine import Routine
from hushbandits.core import Requirements, Streams, World


def _ask(team: ArmSelection, **env: object) -> Requirements:
    always = {"inactive_agents": "keep", "one_arm_per_step": True, "vote_cost": 0, "tolerance": team.epsilon}
    return Requirements(env={**always, **env})


class ZeroPrivacy(ArmSelection):
    """0-Privacy: one routine on the samples of all players, at confidence 1 − δ (Féraud et al. 2019, § 5.1)."""

    role = "0-Privacy"
    shared = True

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require that one vote removes an arm."""
        resets = {} if self.phi is None else {"allow_vote_resets": True}
        end = "coordinator" if self.phi is None else "horizon"
        return _ask(self, threshold=0, vote_rule=">", round_cost="others", termination=end, **resets)

    def routine(self, n_arms: int) -> Routine:
        return self.selection(n_arms, self.delta)


class OnePrivacy(ArmSelection):
    """1-Privacy: one routine per player, at confidence 1 − δ/N, without messages (Féraud et al. 2019, § 5.1).

    A reset of SER4 concerns only the player that it happens to.
    """

    role = "1-Privacy"

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require that votes remove no arm and cost nothing."""
        return _ask(self, termination_by="everyone", termination="players" if self.phi is None else "horizon")

    def validate_env(self, env: World) -> None:
        self._confidence = self.delta / env.n_agents
        super().validate_env(env)

    def reset(self, env: World, rng: Streams) -> None:
        self._confidence = self.delta / env.n_agents
        super().reset(env, rng)

    def routine(self, n_arms: int) -> Routine:
        return self.selection(n_arms, self._confidence, alone=True)
