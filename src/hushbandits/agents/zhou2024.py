"""Zhou & Chowdhury 2024, "On Differentially Private Federated Linear Contextual Bandits": Private-FedLinUCB.

ICLR.  Silos release a p-sum of a tree after every batch (`TreeGaussian`, or `ShuffledVectorSum`), and play by the
server's noisy sums.
"""

import math
from typing import Any

from hushbandits.agents.linear_team import LinearTeam
from hushbandits.agents.wang2020 import scheduled
from hushbandits.core import Requirements, Streams, World, choice, probability, real
from hushbandits.estimators.ridge import Radius


def tree_of(env: World) -> Any:
    """Return the wrapper of `env` that keeps a tree of noisy sums; raise ``ValueError`` if there is none.

    Examples
    --------
    >>> import hushbandits as hb
    >>> tree_of(hb.make_batched("PrivateFedLinear-v0")).depth
    9
    """
    found = next((wrapper for wrapper in env.wrappers if hasattr(wrapper, "depth")), None)
    if found is None:
        raise ValueError("the env needs a tree of noisy sums, such as wrappers=['TreeGaussian'] or PrivateFedLinear-v0")
    return found


class PrivateFedLinUCB(LinearTeam):
    """LinUCB on noisy sums that are synchronised every B rounds (Zhou & Chowdhury 2024, algorithm 1).

    ``λ = s(√(κ + ln(1/α)) + √d)`` for the standard deviation s of the noise in the sums, √(Mκ)σ for `TreeGaussian`, and
    ``β = √(λd) + R√(d ln(1 + n/(dλ)) + ln(1/α))`` for n pulls in V.  B, κ and σ are those of the env's tree.

    Parameters
    ----------
    acts : str
        ``"frozen"``: by synchronised sums alone; ``"within"``, as in the authors' code: inside a batch by its own exact
        sums as well, so that one user's reward steers the arms of later users in the same message.
    alpha : float
        α, the confidence; .01 in the authors' code.
    sigma : float
        R, the scale of a reward's noise.
    width : float
        β is multiplied by it.

    Examples
    --------
    >>> import hushbandits as hb
    >>> result = hb.evaluate("PrivateFedLinear-v0", "Private-FedLinUCB", runs=2, env={"horizon": 100, "epsilon": 5.0})
    >>> result.final("syncs").tolist(), result.final("epsilon").tolist()
    ([4, 4], [5.0, 5.0])
    """

    trigger = scheduled

    def __init__(self, acts: str = "frozen", alpha: float = 0.01, sigma: float = 0.5, width: float = 1.0):
        super().__init__(None, 1.0, sigma)
        self.width = real("width", width, 0)
        self.acts, self.alpha = choice("acts", acts, ("frozen", "within")), probability("alpha", alpha)
        self.required_own_reward = ("reward",) if self.acts == "within" else ()
        self.alike = self.acts == "frozen"  # the tree adds up what these agents do not see

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require that all agents act, and that they see their rewards if they act within a batch."""
        asked = {"server": self.server, "activity": "all"}
        if settings.get("mechanism") in ("TreeGaussian", "ShuffledVectorSum"):  # one that the env's id brings
            asked["own_feedback"] = "true" if self.acts == "within" else "private"
        return Requirements(env=asked)

    def validate_env(self, env: World) -> None:
        """Raise ``ValueError`` unless the env has a tree, and agents see what they act by."""
        own = "true" if self.acts == "within" else "private"
        if tree_of(env).own_feedback != own:
            raise ValueError(f"acts={self.acts!r} of {self.name} needs {tree_of(env).name}(own_feedback={own!r})")

    def threshold(self, env: World) -> float:
        return float(tree_of(env).batch or 1)

    def reset(self, env: World, rng: Streams) -> None:
        self.tree = tree_of(env)
        self.ridge = self.regularizer(env)
        super().reset(env, rng)
        self.radius = self.confidence(env)

    def regularizer(self, env: World) -> float:
        """Return λ, large enough that V is positive definite with probability 1 − α."""
        d, kappa = env.n_features, self.tree.depth
        return float(self.tree.total) * (math.sqrt(kappa + math.log(1 / self.alpha)) + math.sqrt(d))

    def confidence(self, env: World) -> Radius:
        """Return β."""
        least, scale = self.width * math.sqrt(self.ridge * env.n_features), self.width * self.sigma
        return Radius(least, scale, math.log(1 / self.alpha), self.ridge)
