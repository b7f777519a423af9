"""Byzantine agents that report false means."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from hushbandits.core import Fields, Metric, Payload, Streams, Uniforms, World, Wrapper, require, set_rows
from hushbandits.core.random.names import SAMPLES
from hushbandits.core.utils import Array, choice, lean, real
from hushbandits.wrappers.huber import drawn


def swapped(means: Array) -> Array:
    """Return `means` (R, K), but with the best mean at the second-best arm and the third-best mean at the best arm.

    With two arms, both change places.

    Examples
    --------
    >>> swapped(np.array([[0.5, 0.45, 0.4, 0.3]])).tolist()
    [[0.4, 0.5, 0.4, 0.3]]
    """
    order, runs = np.argsort(-means, axis=1, kind="stable"), np.arange(len(means))
    best, second, third = order[:, 0], order[:, 1], order[:, min(2, means.shape[1] - 1)]
    out = means.copy()
    out[runs, second], out[runs, best] = means[runs, best], means[runs, third]
    return out


class FalseMeans(Wrapper):
    """Wrapper by which Byzantine agents report false means of arms, by one of four attacks.

    It replaces ``mean`` in the messages of Byzantine agents.  ``"zero"`` and ``"swap"`` replace ``count`` as well, and
    leave the agent's own samples as they are: they are two readings of the attack on `Resilient-UCB` in the experiments
    of Zhu et al. 2023, whose code declares the means (.4, .5, .4, .3) against the true (.5, .45, .4, .3) and reads a
    variable that stays 0.  ``"invert"`` and ``"hide"`` are the attacks on `Fed-MoM-UCB` of Demirel et al. 2022, where
    liars make up samples: for each pull a liar gets the sample in place of its reward, learns from it, and sends the
    mean of the samples.

    Parameters
    ----------
    attack : str
        ``"zero"``: all means are 0.  ``"swap"``: the second best arm gets the best one's true mean, and the best one
        that of the third (`swapped`).  ``"invert"``: samples are U[0, .1] of the arms that cost nothing (the best, and
        those within the env's margin), and U[.9, 1] of all others.  ``"hide"``: samples are U[0, .1] of the arms that
        cost nothing, and the own ones elsewhere.
    fraction : float
        Fraction of agents that are Byzantine, in [0, 1): ``⌊fraction·M⌋`` of them, drawn per run.

    Raises
    ------
    ValueError
        A parameter out of its range, or messages without ``mean`` and ``count``.

    Notes
    -----
    Metrics: ``honest_regret`` (R,), the mean pseudo-regret of the agents who are not Byzantine; ``honest_most`` (R,),
    that of the honest agent who has most.
    """

    per_pull = True
    logged_metrics = ("honest_regret",)
    metrics_spec: ClassVar[Mapping[str, Metric]] = {
        "honest_regret": Metric("pseudo-regret of an honest agent", "amount"),
        "honest_most": Metric("pseudo-regret of the honest agent who has most", "amount"),
    }

    byzantine: Array  # (R, M) bool
    _made: Array  # (R, M, K) samples that were made up
    _sums: Array  # (R, M, K) their sums
    _samples: Uniforms

    def __init__(self, attack: str = "zero", fraction: float = 0.1, *, name: str | None = None):
        super().__init__(name=name)
        self.attack = choice("attack", attack, ("zero", "swap", "invert", "hide"))
        self.fraction = real("fraction", fraction, 0, 1, closed="low")

    def message_fields(self, fields: Fields, env: World) -> Fields:
        require(self.name, ("mean", "count"), fields)
        return fields

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        byzantine = drawn(rng.generators(), env.n_agents, self.fraction)
        made, sums = np.zeros((2, *byzantine.shape, env.n_arms))
        set_rows(self, rows, byzantine=byzantine, _made=made, _sums=sums, _samples=rng.reader((env.n_agents,), SAMPLES))

    def alter_own_reward(self, reward: Array, env: World) -> Array:
        if self.attack not in ("invert", "hide"):
            return reward
        arm, told = env.standard_report()["arm"], reward.copy()
        u = self._samples.next() if arm.ndim == 2 else self._samples.rows(len(arm))
        rounds = (x.reshape(-1, *self.byzantine.shape) for x in (arm, u, told))
        _lie(*rounds, env.gaps, self.byzantine, self.attack == "invert", self._made, self._sums)
        return told

    def send(self, message: Payload, env: World) -> Payload:
        if self.attack in ("invert", "hide"):
            made = np.maximum(self._made, 1.0)
            return message.with_fields(mean=np.where(self._made > 0.0, self._sums / made, message["mean"]))
        lies = self.byzantine[:, :, None]
        most = np.where(lies, 0.0, message["count"]).max(1, keepdims=True)
        means = 0.0 if self.attack == "zero" else swapped(env.means)[:, None]
        mean, count = np.where(lies, means, message["mean"]), np.where(lies, most, message["count"])
        return message.with_fields(mean=mean, count=count)

    def metrics(self, env: World) -> dict[str, Array]:
        regret: Array = env.agent_regret
        mean = np.where(self.byzantine, 0.0, regret).sum(1) / (~self.byzantine).sum(1)
        return {"honest_regret": mean, "honest_most": np.where(self.byzantine, -np.inf, regret).max(1)}


@lean
def _lie(arm, u, reward, gaps, byzantine, always, made, sums):  # type: ignore[no-untyped-def]
    """Replace byzantine agents' rewards of n rounds, ``(n, R, M)``, by samples, and add these to `made` and `sums`."""
    for i in range(len(arm)):
        for r in range(byzantine.shape[0]):
            for m in range(byzantine.shape[1]):
                k = arm[i, r, m]
                costs_nothing = gaps[r, k] < 1e-12  # but for rounding
                if byzantine[r, m] and (costs_nothing or always):
                    reward[i, r, m] = (0.0 if costs_nothing else 0.9) + 0.1 * u[i, r, m]
                    made[r, m, k] += 1.0
                    sums[r, m, k] += reward[i, r, m]
