"""Azize, Jourdan, Al Marjani & Basu 2023, "On the Complexity of Differentially Private Best-Arm Identification".

AdaP-TT (NeurIPS) identifies the best arm at fixed confidence, by top-two sampling on noised means of phases that double
arm by arm.
"""

from typing import ClassVar

from hushbandits.best_arm.routine import Routine
from hushbandits.best_arm.top_two import top_two
from hushbandits.core import NOISED_MEAN, Adjacency, Guarantee, Requirements, World, real
from hushbandits.envs.exploration.voting import VotingTeam


class Identifier(VotingTeam):
    """Base of agents that identify the best arm privately, each from its own rewards, with one pull per round.

    When a learner stops, it votes out all arms except the one that it recommends, and the run is over.  There is one
    learner, N = 1, unless the env sets another number; then each uses its own rewards, and the first to stop decides.

    Parameters
    ----------
    epsilon : float
        ε > 0: actions, stopping and recommendation are ε-differentially private in its rewards.
    delta : float
        δ, the target failure probability.

    Raises
    ------
    ValueError
        A parameter out of its range.
    """

    #: The source of the guarantee.
    source = ""
    vetted: ClassVar[tuple[str, ...]] = ("proof", "audit")

    def __init__(self, epsilon: float = 1.0, delta: float = 0.01):
        self.epsilon = real("epsilon", epsilon, 0)
        self.delta = real("delta", delta, 0, 1)

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require removal of an arm by one vote, one pull per round and, unless `n_agents` is set, a single agent."""
        vote = {"threshold": 1, "vote_rule": ">=", "one_arm_per_step": True}
        end = {"inactive_agents": "keep", "termination": "coordinator"}
        alone = {} if "n_agents" in settings else {"n_agents": 1}
        return Requirements(env={**vote, **end, **alone})

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        text = "Laplace(1/(εn)) on an arm's mean of the n rewards of a phase; no reward is in two phases"
        inputs = Adjacency("one reward of a learner replaced by any other in [0, 1]", "reward")
        view = "an observer of all actions, the stopping time and the recommendation"
        return (Guarantee(text, self.epsilon, 0.0, inputs, view, NOISED_MEAN, self.source, vetted=self.vetted),)


class AdaPTT(Identifier):
    """AdaP-TT with the empirical stopping threshold from the experiments of Azize et al. 2023.

    After one pull of each arm, with N_a pulls in closed phases, s_a of them in the last, and P_a in the open one: the
    leader is ``B = argmax μ̃_a + ln n/(εs_a) + √(ln n/(2s_a))``, n = Σ N_a; the challenger ``C = argmin (μ̃_B − μ̃_j +
    κ)/√(1/(N_B + P_B) + 1/(N_j + P_j))``, κ = 1/(1 + √n).  B is pulled with probability β, else C.  A phase closes
    when P_a = N_a, with ``μ̃_a = its mean + Lap(1/(εP_a))``.  AdaP-TT then stops and recommends the leader b if
    ``½(μ̃_b − μ̃_j)₊²/(1/s_b + 1/s_j) ≥ c`` for all j ≠ b.

    The threshold ``c = ln(1/δ) + ln(1 + ln s_b) + ln(1 + ln s_j) + (1/s_b + 1/s_j) ln²(1/δ)/ε²`` is *empirical*.  The
    paper proves a failure probability of δ for another threshold, whose constants the text does not state.

    Parameters
    ----------
    epsilon : float
        ε > 0: actions, stopping and recommendation are ε-differentially private in its rewards.
    delta : float
        δ, the target failure probability of the threshold; it is not proven.
    beta : float
        β ∈ (0, 1), how often the leader is pulled.

    Raises
    ------
    ValueError
        A parameter out of its range.

    Notes
    -----
    Two errors of the released code are not copied.  Its stopping time omits the pulls of open phases; here ``rounds``
    counts every pull.  It squares gaps that may be negative; here the positive part is squared.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = {"means": (0.9, 0.4, 0.1), "rewards": "bernoulli"}
    >>> results = hb.evaluate("DPMASE-v0", "AdaP-TT", runs=5, env=env)
    >>> bool(results.final("correct").all())
    True
    """

    name = "AdaP-TT"
    source = "Azize et al. 2023: AdaP-TT is ε-globally private"

    def __init__(self, epsilon: float = 1.0, delta: float = 0.01, beta: float = 0.5):
        super().__init__(epsilon, delta)
        self.beta = real("beta", beta, 0, 1)

    def routine(self, n_arms: int) -> Routine:
        return top_two(self.epsilon, self.delta, self.beta)
