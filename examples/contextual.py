"""A contextual bandit: every round shows each agent features of the arms, and a pull pays linearly in them.

The file has an env, its task, and LinUCB, which pools all agents' reports. Run this file, or name it:
``hushbandits evaluate contextual:Contexts contextual:LinUCB contextual:Alone Random`` in this folder.
"""

import numpy as np

import hushbandits as hb
from hushbandits.core import set_rows
from hushbandits.envs.rounds.env import Rounds
from hushbandits.envs.rounds.task import ArmTask


def _unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def _paid(features, theta):
    return np.einsum("rmkd,rd->rmk", features, theta)


class ContextTask(ArmTask):
    """An `ArmTask` that also shows the features of the coming round, arm by arm."""

    def _parts(self):
        return {**super()._parts(), "features": (self.core.n_arms * self.core.n_features, 0.0, 1.0)}

    def _see(self, rows):
        seen = self.core.features[rows]
        self.observations[rows, :, self.layout["features"]] = seen.reshape(*seen.shape[:2], -1)

    def _start(self, rows):
        super()._start(rows)
        self._see(rows)

    def heard(self, obs):
        super().heard(obs)
        self._see(slice(None))


class Contexts(Rounds):
    """M agents, K arms, d features: a pull of arm k pays with probability ⟨x_k, θ⟩, for a θ that the run draws.

    Features and θ are unit vectors without negative parts, so that this is a probability. The regret of a pull is
    against the best arm of the same agent in the same round. What travels is the pulled arm's feature and the reward.

    Parameters
    ----------
    n_agents, n_arms, n_features, horizon : int
        M, K, d and T.
    rewards : str or Law
    wrappers, extra_fields, fields, runs
        As in `hb.Env`.
    """

    setting = "contexts"
    agent_visible = ("features", "n_features")
    reward_free_fields = ("features", "n_features", "feature")
    rl_task = ContextTask

    def __init__(
        self,
        *,
        n_agents=4,
        n_arms=10,
        n_features=5,
        horizon=500,
        rewards="bernoulli",
        wrappers=(),
        extra_fields=None,
        fields=None,
        runs=1,
    ):
        self.n_features = n_features
        # These arm locations are not used: `_rewards` computes the rewards.
        super().__init__(
            n_agents=n_agents, means=(0.5,) * n_arms, rewards=rewards, horizon=horizon,
            wrappers=wrappers, extra_fields=extra_fields, fields=fields, runs=runs,
        )  # fmt: skip

    @property
    def report(self):
        return {**super().report, "feature": hb.Field((self.n_features,))}

    def _reset(self, rng, rows=None):
        super()._reset(rng, rows)
        theta = _unit(rng.uniforms(0, (self.n_features,), "theta"))
        contexts = rng.reader((self.n_agents, self.n_arms, self.n_features), "features")
        # (R, M, K, d) current features, and (R, M, K) mean rewards
        features = _unit(contexts.next())
        set_rows(self, rows, _theta=theta, _contexts=contexts, features=features, _pays=_paid(features, theta))

    def _at(self, arm, values):
        return np.take_along_axis(values, arm.reshape(*arm.shape, *(1,) * (values.ndim - 2)), 2)[:, :, 0]

    def _charge(self, arm, gap):
        return self._pays.max(2) - self._at(arm, self._pays)

    def _rewards(self, arm, location, u):
        return self.law.quantile(u, self._at(arm, self._pays))

    def _report(self):
        return {**super()._report(), "feature": self._at(self._arm, self.features)}

    def _counted(self, message):
        message = super()._counted(message)
        self.features = _unit(self._contexts.next())
        self._pays = _paid(self.features, self._theta)
        return message

    means = locations = property(lambda self: self._pays.mean(1), doc="``(R, K)`` arm means, over the agents.")
    gaps = property(lambda self: self.means.max(1, keepdims=True) - self.means)


class LinUCB(hb.Team):
    """Optimism over a confidence ellipsoid for θ (Abbasi-Yadkori, Pál & Szepesvári 2011, theorem 2 with R = ½, S = 1).

    Its index is x·θ̂ + √β ‖x‖ in the norm of V⁻¹, with V = λI + Σ x xᵀ over all that it pulled or heard.

    Parameters
    ----------
    delta : float
        Probability that the ellipsoid ever misses θ.
    lam : float
        λ of the ridge regression.
    """

    setting = "contexts"
    required_inbox = ("feature", "reward")

    def __init__(self, delta=0.05, lam=1.0):
        super().__init__()
        self.delta, self.lam = delta, lam

    def reset(self, env, rng):
        self._env, d = env, env.n_features
        self._v = np.tile(self.lam * np.eye(d), (len(rng), env.n_agents, 1, 1))
        self._b = np.zeros((len(rng), env.n_agents, d))

    def act(self, obs):
        x, inverse = self._env.features, np.linalg.inv(self._v)
        # ln det(V)^½ det(λI)^−½ of equation (5)
        volume = (np.linalg.slogdet(self._v)[1] - self._v.shape[-1] * np.log(self.lam)) / 2
        root_beta = 0.5 * np.sqrt(2 * (volume - np.log(self.delta))) + np.sqrt(self.lam)
        estimate = np.einsum("rmde,rme->rmd", inverse, self._b)
        width = np.sqrt(np.einsum("rmkd,rmde,rmke->rmk", x, inverse, x))
        arm = (np.einsum("rmkd,rmd->rmk", x, estimate) + root_beta[..., None] * width).argmax(2)
        self._x = np.take_along_axis(x, arm[..., None, None], 2)
        return arm

    def compose(self, reward):
        self._learn(self._x, reward[..., None])

    def receive(self, inbox):
        self._learn(inbox["feature"], inbox["reward"])  # missing messages are 0 and have no effect

    def _learn(self, x, reward):
        self._v += np.einsum("rmsd,rmse->rmde", x, x)
        self._b += np.einsum("rmsd,rms->rmd", x, reward)


class Alone(LinUCB):
    """LinUCB that ignores messages."""

    required_inbox = ()

    def receive(self, inbox): ...


if __name__ == "__main__":
    hb.testing.check_env(Contexts, n_agents=3, horizon=8)
    for agent in (LinUCB, Alone, "Random"):
        print(hb.evaluate(Contexts, agent, runs=20).final("regret").mean().round(1))
