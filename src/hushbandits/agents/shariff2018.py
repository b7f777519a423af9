"""Shariff & Sheffet 2018, "Differentially Private Contextual Linear Bandits": LinUCB under joint differential privacy.

NeurIPS.  One agent plays by noisy sums, to which it adds a multiple of the identity so that they are positive definite.
"""

import math

from hushbandits.agents.zhou2024 import PrivateFedLinUCB
from hushbandits.core import Requirements, World, choice
from hushbandits.estimators.ridge import Radius

#: What the two constants of the shift Υ/(σ√m) are, in d and the logarithm l = ln(2T/α).
SHIFTS = {
    "exact": lambda d, log: 2 * math.sqrt(d) + math.sqrt(2 * log),
    "published": lambda d, log: math.sqrt(2) * (4 * math.sqrt(d) + 2 * log),
}


class LinUCBJDP(PrivateFedLinUCB):
    """LinUCB with a tree over rounds: what all other users see hides one user's context set and reward.

    ``V = S + noise + 2ΥI``: the eigenvalues of the noise and the shift lie in [Υ, 3Υ] with probability 1 − α.

    Parameters
    ----------
    shift : str
        ``"exact"``: ``Υ = σ√m(2√d + √(2 ln(2T/α)))``, and β is the radius of `LinearTeam` for λ = 2Υ;
        ``"published"``: ``Υ = σ√(2m)(4√d + 2 ln(2T/α))``, and ``β = R√(2 ln(2/α) + d ln(3 + t/(dΥ))) + √(3Υ) + γ``
        with ``γ = σ√(m/Υ)(√d + √(2 ln(2T/α)))``.
    alpha, sigma
        As in `PrivateFedLinUCB`.

    Notes
    -----
    The noise is that of the env's `TreeGaussian`: the least one for ε and δ, or with ``sigma="shariff2018"`` the
    paper's.  In joint privacy a user's own action may depend on its data.  The exact form's β is a choice of ours.

    Examples
    --------
    >>> import hushbandits as hb
    >>> result = hb.evaluate("PrivateFedLinear-v0", "LinUCB-JDP", runs=2, env={"horizon": 200})
    >>> result.final("uploads").tolist()
    [200, 200]
    """

    def __init__(self, shift: str = "exact", alpha: float = 0.01, sigma: float = 0.5):
        super().__init__("frozen", alpha, sigma)
        self.shift = choice("shift", shift, SHIFTS)

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require one agent, and a release in every round."""
        asked = super().requirements(settings).env
        return Requirements(env={**asked, "n_agents": 1, **({"batch": 1} if "own_feedback" in asked else {})})

    def regularizer(self, env: World) -> float:
        """Return 2Υ."""
        return 2 * self.tree.total * SHIFTS[self.shift](env.n_features, math.log(2 * env.horizon / self.alpha))

    def confidence(self, env: World) -> Radius:
        if self.shift == "exact":
            return Radius(math.sqrt(self.ridge), self.sigma, 2 * math.log(1 / self.alpha), self.ridge)
        return shifted(self.ridge / 2, self.tree.total, env, self.alpha, self.sigma, 1.5 * self.ridge)


def shifted(least: float, noise: float, env: World, alpha: float, sigma: float, ridge: float) -> Radius:
    """Return β for a regularizer with eigenvalues in [Υ, 3Υ], Υ = `least` (proposition 11).

    `noise` is the standard deviation of the noise in an entry of the sums, and `sigma` that of a reward.  In the
    logarithm, `ridge`/3 stands for Υ.
    """
    d, log = env.n_features, math.log(2 * env.horizon / alpha)
    gamma = noise / math.sqrt(least) * (math.sqrt(d) + math.sqrt(2 * log))
    return Radius(math.sqrt(3 * least) + gamma, sigma, 2 * math.log(2 / alpha) + d * math.log(3), ridge)
