"""Zhou & Chowdhury 2024, "On Differentially Private Federated Linear Contextual Bandits": Private-FedLinUCB.

ICLR.  Silos release a p-sum of a tree after every batch (`TreeGaussian`, or `ShuffledVectorSum`), and play by the
server's noisy sums.
"""

from __future__ import annotations

import math

import numpy as np

from hushbandits.agents.abbasi2011 import LinearTeam
from hushbandits.core import Array, Inbox, Message, Requirements, Streams, World, choice, probability, real
from hushbandits.core.messages import Observation
from hushbandits.envs.linear.payload import tree_of
from hushbandits.estimators.ridge import Ridge, Sums

_TREES = ("TreeGaussian", "ShuffledVectorSum")


class PrivateFedLinUCB(LinearTeam):
    """LinUCB on noisy sums that are synchronised every B rounds (Zhou & Chowdhury 2024, algorithm 1).

    ``λ = s(√(κ + ln(1/α)) + √d)`` for the standard deviation s of the noise in the sums, √(Mκ)σ for `TreeGaussian`, and
    ``β = √(λd) + R√(d ln(1 + tM/(dλ)) + ln(1/α))``.  B, κ and σ are those of the env's tree.

    Parameters
    ----------
    acts : str
        ``"frozen"``: by synchronised sums alone; ``"within"``, as in the authors' code: inside a batch by its own exact
        sums as well, so that one user's reward steers the arms of later users in the same message.
    alpha : float
        α, the confidence; .01 in the authors' code.
    sigma : float
        R, the scale of a reward's noise.

    Examples
    --------
    >>> import hushbandits as hb
    >>> result = hb.evaluate("PrivateFedLinear-v0", "Private-FedLinUCB", runs=2, env={"horizon": 100, "epsilon": 5.0})
    >>> result.final("syncs").tolist(), result.final("epsilon").tolist()
    ([4, 4], [5.0, 5.0])
    """

    def __init__(self, acts: str = "frozen", alpha: float = 0.01, sigma: float = 0.5):
        super().__init__(None, 1.0, sigma, probability("alpha", alpha))
        self.acts, self.alpha = choice("acts", acts, ("frozen", "within")), real("alpha", alpha, 0, 1)
        self.required_own_reward = ("reward",) if self.acts == "within" else ()

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require that all agents act, and that they see their rewards if they act within a batch."""
        asked = {"server": self.server, "activity": "all"}
        if settings.get("mechanism") in _TREES:  # one that the env's id brings
            asked["own_feedback"] = "true" if self.acts == "within" else "private"
        return Requirements(env=asked)

    def validate_env(self, env: World) -> None:
        """Raise ``ValueError`` unless the env has a tree, and agents see what they act by."""
        own = "true" if self.acts == "within" else "private"
        if tree_of(env).own_feedback != own:
            raise ValueError(f"acts={self.acts!r} of {self.name} needs {tree_of(env).name}(own_feedback={own!r})")

    def reset(self, env: World, rng: Streams) -> None:
        self.tree = tree_of(env)
        self.ridge = self.regularizer(env)
        super().reset(env, rng)
        self.unsent = Sums(len(rng), env.n_agents, env.n_features)

    def regularizer(self, env: World) -> float:
        """Return λ, large enough that V is positive definite with probability 1 − α."""
        return self.tree.total * (math.sqrt(self.tree.depth + math.log(1 / self.alpha)) + math.sqrt(env.n_features))

    def ridges(self, runs: int, env: World) -> Ridge:
        return Ridge(runs, 1 if self.acts == "frozen" else env.n_agents, env.n_features, self.ridge)

    def learners(self, who: Array) -> Array:
        return np.zeros_like(who) if self.acts == "frozen" else who  # frozen agents have all downloaded the same

    def width(self, pulls: Array) -> Array:
        d, lam = self.env.n_features, self.ridge
        seen = np.broadcast_to(self._t[:, None] * self.env.n_agents, pulls.shape)
        return math.sqrt(lam * d) + self.sigma * np.sqrt(d * np.log1p(seen / (d * lam)) + math.log(1 / self.alpha))

    def act(self, obs: Observation) -> Array:
        self._t = obs.t
        return super().act(obs)

    def compose(self, reward: Array) -> Message | None:
        if self.acts == "frozen":
            return None  # the tree adds up what the agents do not see
        self.played.add(self.who, self.x, reward)
        self.unsent.add(self.who, self.x, reward)
        due = (self._t + 1) % (self.tree.batch or 1) == 0
        return self.unsent.take(self.who, np.repeat(due[:, None], self.who.shape[1], 1))

    def receive(self, inbox: Inbox) -> None:
        r, m, *sums = self.downloads(inbox)
        if len(r):
            mine = m < self.played.pulls.shape[1]
            self.played.refresh(r[mine], m[mine], *(value[mine] for value in sums))
