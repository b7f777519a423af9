"""Rio, Barlier, Colin & Soare 2023, "Multi-Agent Best Arm Identification with Private Communications" (ICML).

Both algorithms follow one scheme (algorithm 1): every agent eliminates arms by its own samples and votes against them.
They differ in the local rule.  `DP-MASE` (algorithm 2) runs differentially private successive elimination (Sajed &
Sheffet 2019).  `Corrupted-Elimination` (algorithm 3) runs plain successive elimination at a low confidence and loses
votes on purpose.
"""

from hushbandits.best_arm.elimination import confidence_under_loss, successive_elimination
from hushbandits.best_arm.private_elimination import private_elimination
from hushbandits.best_arm.routine import Routine
from hushbandits.core import NOISED_MEAN, Adjacency, Guarantee, Requirements, World, real
from hushbandits.envs.exploration.voting import VotingTeam


class DPMASE(VotingTeam):
    """DP-MASE (Rio et al. 2023, algorithms 2 and 4).

    In epoch e an agent pulls every arm of its local set 𝒦_n for R(e) activations; at the end it adds
    ``Lap(1/(εR))`` to each mean, votes out every arm more than 2(h + c) below the largest, and only then looks
    at 𝒦.  An agent leaves when ``|𝒦_n| ≤ 1`` after that.  Epochs start at 1.

    Parameters
    ----------
    epsilon : float
        ε: an agent's votes are ε-differentially private in its rewards (each epoch's noise for rewards in [0, 1]).
    delta : float
        δ: failure probability of the whole.
    beta : float
        β: failure probability of one agent; the vote threshold is ``M = ⌊ln δ/ln β⌋``, exceeded.
    """

    name = "DP-MASE"
    vetted = ("proof", "audit")

    def __init__(self, epsilon: float = 0.1, delta: float = 0.05, beta: float = 0.5):
        self.epsilon = real("epsilon", epsilon, 0)
        self.delta = real("delta", delta, 0, 1)
        self.beta = real("beta", beta, 0, 1)

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require that an arm is removed by ⌊ln δ/ln β⌋ + 1 votes and that finished agents leave."""
        vote = {"delta": self.delta, "beta": self.beta, "eta": None}
        return Requirements(env={**vote, "vote_rule": ">", "inactive_agents": "drop"})

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        text = "Laplace(1/(εR)) on an arm's mean of the R rewards of an epoch"
        inputs, view = Adjacency("one reward of one agent on one arm replaced", "reward"), "an observer of all votes"
        source = "Rio et al. 2023, proposition 4.1"
        return (Guarantee(text, self.epsilon, 0.0, inputs, view, NOISED_MEAN, source, vetted=self.vetted),)

    def routine(self, n_arms: int) -> Routine:
        return private_elimination(n_arms, self.epsilon, self.beta)


class CorruptedElimination(VotingTeam):
    """Corrupted Elimination (Rio et al. 2023, algorithm 3).

    After each of its t_n activations an agent drops every arm k of 𝒦_n with
    ``max_l μ̂_l − μ̂_k ≥ 2√(ln(K t_n²/η_ξ)/t_n)`` and votes it out; a vote is lost with probability ξ (a wrapper of
    the env, at the source: the agent knows ξ only to set η_ξ and M).  Then ``𝒦_n ← 𝒦_n ∩ 𝒦``, and it leaves when
    ``|𝒦_n| ≤ 1``.  ``η_ξ = 1 − (1 − η)/(1 − ξ)^(K−1)``, and votes must exceed ``M = ⌊ln δ/ln η_ξ⌋``.

    Parameters
    ----------
    eta : float
        η: apparent privacy level; an observer of one agent's messages should name its best arm with probability
        at most 1 − η (see `docs/exploration.md` for what is measured).
    delta : float
        δ: failure probability of the whole.
    xi : float
        ξ: corruption probability; at most ``1 − (1 − η)^(1/(K−1))``.
    """

    name = "Corrupted-Elimination"

    def __init__(self, eta: float = 0.9, delta: float = 0.05, xi: float = 0.0):
        self.eta = real("eta", eta, 0, 1)
        self.delta = real("delta", delta, 0, 1)
        self.xi = real("xi", xi, 0, 1, closed="low")

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require losses at rate ξ, the paper's threshold of votes, and that finished agents leave."""
        return Requirements(
            env={"delta": self.delta, "eta": self.eta, "xi": self.xi, "vote_rule": ">", "inactive_agents": "drop"}
        )

    def routine(self, n_arms: int) -> Routine:
        return successive_elimination(confidence_under_loss(self.eta, self.xi, n_arms))
