"""Dubey & Pentland 2020, "Differentially-Private Federated Linear Bandits": FedUCB.

NeurIPS.  Agents synchronise when one of them has learned enough, as in DisLinUCB, and upload noisy sums.
"""

import math

import numpy as np

from hushbandits.agents.shariff2018 import SHIFTS, shifted
from hushbandits.agents.wang2020 import DisLinUCB
from hushbandits.agents.zhou2024 import tree_of
from hushbandits.core import Array, Inbox, Requirements, Streams, World, flag, probability


class FedUCB(DisLinUCB):
    """Federated LinUCB with a tree over synchronisations (Dubey & Pentland 2020, algorithm 1).

    An agent asks for a synchronisation by the trigger of `DisLinUCB`, on its exact sums; nothing is promised
    therefore, whatever the noise.  The sums are shifted by 2ΥI, as in `LinUCBJDP`, so that they are positive definite.

    Parameters
    ----------
    as_released : bool
        As in the authors' code: the noise of ``TreeGaussian(sigma="dubey2020", nodes="levels")``, and a shift of every
        entry of an agent's sums, not of the diagonal, by ``2σ√(2 ln T)(4√d + 2 ln(200T))``.
    threshold : float, optional
        As in `DisLinUCB`.
    alpha : float
        The confidence of Υ.
    ridge, sigma
        As in `LinearTeam`.

    Examples
    --------
    >>> import hushbandits as hb
    >>> result = hb.evaluate("PrivateFedLinear-v0", "FedUCB", runs=2, env={"horizon": 100})
    >>> result.final("epsilon").tolist()
    [inf, inf]
    """

    def __init__(
        self,
        as_released: bool = False,
        threshold: float | None = None,
        alpha: float = 0.01,
        ridge: float = 1.0,
        sigma: float = 0.5,
    ):
        self.as_released, self.alpha = flag("as_released", as_released), probability("alpha", alpha)
        super().__init__(threshold, None, ridge, sigma, alpha)

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require the server's rule, and of the env's tree that it takes sums whenever agents send them."""
        asked = dict(super().requirements(settings).env)
        if settings.get("mechanism") == "TreeGaussian":
            asked |= {"own_feedback": "true", "batch": None}
            asked |= {"sigma": "dubey2020", "nodes": "levels"} if self.as_released else {}
        return Requirements(env=asked)

    def validate_env(self, env: World) -> None:
        """Raise ``ValueError`` unless the env has a tree that takes sums at any time."""
        tree = tree_of(env)
        if tree.batch is not None or tree.own_feedback != "true":
            raise ValueError(f"{self.name} needs {tree.name}(batch=None, own_feedback='true')")

    def reset(self, env: World, rng: Streams) -> None:
        super().reset(env, rng)
        d, noise, log = env.n_features, tree_of(env), math.log(2 * env.horizon / self.alpha)
        least = noise.total * SHIFTS["exact"](d, log)
        self.radius = shifted(least, noise.total, env, self.alpha, self.sigma, self.ridge)
        #: What the server's sums [Σ x xᵀ, Σ r x] are shifted by, ``(d, d + 1)``.
        self.shift = 2 * least * np.eye(d, d + 1)
        if self.as_released:
            far = 4 * math.sqrt(d) + 2 * math.log(200 * env.horizon)
            each = 2 * noise.scale * math.sqrt(2 * math.log(env.horizon)) * far
            self.shift = np.full((d, d + 1), env.n_agents * each)

    def downloads(self, inbox: Inbox) -> tuple[Array, Array, Array, Array, Array]:  # type: ignore[override]
        r, m, gram, moment, pulls = super().downloads(inbox)
        return r, m, gram + self.shift[:, :-1], moment + self.shift[:, -1], pulls
