"""Féraud, Alami & Laroche 2019, "Decentralized Exploration in Multi-Armed Bandits" (ICML).

Decentralized Elimination (algorithm 2) plays any best-arm routine at the low confidence 1 − η.  A player votes against
every arm that its routine eliminates, and ``M = ⌊ln δ/ln η⌋`` votes remove an arm for all players.  The routines are in
`hushbandits.best_arm`; this module states what the vote requires of its env.
"""

from typing import ClassVar

from hushbandits.best_arm.best_arm import ROUTINES
from hushbandits.best_arm.routine import Routine
from hushbandits.core import Guarantee, Requirements, World, choice, divisor, probability, real, shown
from hushbandits.envs.exploration.voting import VotingTeam


class ArmSelection(VotingTeam):
    """Base of the algorithms of Féraud et al. 2019, in which each player runs an arm-selection routine at precision ε.

    Parameters
    ----------
    routine : str
        One of `hushbandits.best_arm.best_arm.ROUTINES`.
    epsilon, delta : float
        ε: an arm within ε of the best is correct; and δ: failure probability of the whole.
    phi : float, optional
        φ of SER4 (``ValueError`` with another routine), which plays to the horizon: probability of a reset per
        activation, 1e-4 by default.  Theorem 4 asks for about the number of switches over the horizon.
    """

    #: The prefix of the routine's name.
    role: ClassVar[str]
    plays_on = True

    def __init__(self, routine: str = "SER3", epsilon: float = 0.25, delta: float = 0.05, phi: float | None = None):
        self.routine_name = choice("routine", routine, ROUTINES)
        self.epsilon = divisor("epsilon", epsilon, 1, closed="high")
        self.delta = real("delta", delta, 0, 1)
        if routine != "SER4" and phi is not None:
            raise ValueError(f"phi={shown(phi)} must be left out with routine={routine!r}: only 'SER4' uses phi")
        self.phi = probability("phi", 1e-4 if phi is None else phi) if routine == "SER4" else None

    @property
    def name(self) -> str:
        return f"{self.role}-{self.routine_name}"

    def selection(self, n_arms: int, failure: float, alone: bool = False) -> Routine:
        """Return the routine for `n_arms` arms at confidence 1 − `failure`; if `alone`, a reset affects one player."""
        own = {} if self.phi is None else {"phi": self.phi, "alone": alone}
        return ROUTINES[self.routine_name](n_arms, failure, self.epsilon, **own)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        """Return no guarantees, because ε is the tolerated gap to the best arm, not a privacy parameter."""
        return ()


class Decentralized(ArmSelection):
    """Decentralized Elimination (Féraud et al. 2019, algorithm 2) over one arm-selection routine.

    The active player reads 𝒦 (lines 4–12: ``𝒦_n ← 𝒦_n ∩ 𝒦``, or 𝒦 itself once that is one arm), plays one arm of
    𝒦_n (line 13), and votes out the arms that the routine eliminates (lines 14–20).  The run ends when every player
    holds one arm (line 22); activations of players that already hold one count too.

    Over SER4 it is DSER4 (section 4), for best arms that change.  In every activation with a pull, the player resets
    with probability φ: all routines, all votes and 𝒦.  It plays to the env's horizon and is judged by its regret.

    Parameters
    ----------
    eta : float
        η: failure probability of one player's routine; an observer of one player's messages should find an ε-optimal
        arm with probability at most 1 − η (see `docs/exploration.md` for what is measured).
    delta : float
        δ: failure probability of the whole; in ``[η^N, η²]``, unless the env is not strict.

    Examples
    --------
    >>> import hushbandits as hb
    >>> results = hb.evaluate("DecentralizedExploration-v0", "Decentralized-SER3", runs=2, env={"n_agents": 32})
    >>> bool((results.final("messages") <= 279).all())
    True
    """

    role = "Decentralized"

    def __init__(
        self,
        routine: str = "SER3",
        epsilon: float = 0.25,
        eta: float = 0.9,
        delta: float = 0.05,
        phi: float | None = None,
    ):
        super().__init__(routine, epsilon, delta, phi)
        self.eta = real("eta", eta, 0, 1)

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require that M votes remove an arm and that finished players stay; SER4 also requires resets."""
        end = {"vote_rule": ">=", "inactive_agents": "keep", "termination": "players", "one_arm_per_step": True}
        if self.phi is not None:  # a vote with resets never ends before the horizon
            end |= {"termination": "horizon", "allow_vote_resets": True}
        strict = settings.get("require_confidence", True)
        vote = {"delta": self.delta, "eta": self.eta, "tolerance": self.epsilon, "require_confidence": strict}
        return Requirements(env={**end, **vote})

    def routine(self, n_arms: int) -> Routine:
        return self.selection(n_arms, self.eta)
