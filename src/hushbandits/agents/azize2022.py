"""Azize & Basu 2022, "When Privacy Meets Partial Information: A Refined Analysis of Differentially Private Bandits".

AdaP (NeurIPS) uses an optimistic index of the last episode's noised mean alone, and each new episode
of an arm doubles its pulls.
Every reward enters one mean, and every mean gets noise once, so the actions are ε-globally private.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from hushbandits.agents.feedback import Calibrated
from hushbandits.core import Array, Guarantee, Inbox, Metric, Observation, Params, Streams, World, invalid, jit, real
from hushbandits.core.guarantee import ONCE
from hushbandits.policies.kl import kl_upper

#: ``ln(2s)`` in the sampling error of AdaP-UCB, as the text at hand has it; 1 would be KL-UCB's ``ln s``.
INSIDE = 2.0


class AdaP(Calibrated):
    """Base of AdaP-UCB and AdaP-KLUCB (Azize & Basu 2022, algorithm 1), which differ in the index.

    Each arm is pulled once; then episodes follow.  At ``s = t + 1`` the arm of the largest index is pulled N_a times,
    where N_a is its number of pulls so far.  Each of its episodes is thus as long as all earlier ones together (the
    first is one pull).  Then ``μ̃_a ← mean of these n_a = N_a rewards + Lap(1/(ε n_a))``: earlier rewards are
    forgotten.  The mechanism adds the noise, Lap(1/ε) on an episode's sum.

    Parameters
    ----------
    epsilon : float, optional
        ε of the env's mechanism; left out, the env's own.  The same ε sets the index.
    alpha : float
        α > 0: the theorems take α > 3, the experiments 3.1.
    require_calibrated : bool
        As in `Calibrated`: False allows a mechanism that the index was not made for.

    Raises
    ------
    ValueError
        A parameter out of its range; an env without a mechanism, with another ε, or one that the index is not made for.

    Notes
    -----
    The text leaves some choices open.  Ties are broken at random (they are common where a KL index is 1).  Before an
    arm's first episode its index has n_a = 1, where the text has ½N_a.  An episode that the horizon cuts is the last.
    If users get lost, n_a counts the remaining ones, and an episode that is lost completely is repeated.
    """

    metrics_spec: Mapping[str, Metric] = {"noised_means": Metric("noised means that actions were made of", "count")}
    #: An index uses the mechanism's sums alone, so the guarantee is the mechanism's.
    free_hooks = ("index", "mechanisms", "wrappers", "fixed", "shared")
    vetted = ("proof", "audit")
    mechanisms = wrappers = ("CentralLaplace",)
    fixed: ClassVar[Params] = {"discrete": False}

    def __init__(self, epsilon: float | None = None, alpha: float = 3.1, *, require_calibrated: bool = True):
        super().__init__(epsilon, require_calibrated=require_calibrated)
        self.alpha = real("alpha", alpha, 0)

    def index(self, mean: Array, n: Array, s: Array) -> Array:
        """Return each arm's index, ``(R, M, K)``, at the times `s`, ``(R, M, 1)``.

        `mean` and `n`, ``(R, M, K)``, are the noised means and their numbers of users.
        """
        raise NotImplementedError(f"{type(self).__name__} must define index(mean, n, s)")

    def reset(self, env: World, rng: Streams) -> None:
        self.validate_env(env)  # `reset` may be called without `check_compatible`
        shape = (len(rng), env.n_agents, env.n_arms)
        self._env = env
        self._mean = np.zeros(shape)  # μ̃
        self._n = np.zeros(shape, np.int64)  # n_a
        self._next = np.ones(shape, np.int64)  # N_a
        self._noised = np.zeros(shape[0], np.int64)
        self._run, self._seat = np.ogrid[: shape[0], : shape[1]]
        self._uniforms = rng.reader(shape[1:2])

    def act(self, obs: Observation) -> tuple[Array, Array]:
        index = self.index(self._mean, np.maximum(self._n, 1), self._env.served[:, :, None] + 1.0)
        ties = np.cumsum(index == index.max(2, keepdims=True), axis=2)
        nth = (self._uniforms.next() * ties[:, :, -1]).astype(np.int64)
        new = self._n == 0
        self._arm = np.where(new.any(2), new.argmax(2), (ties > nth[:, :, None]).argmax(2))  # line 1, else line 4
        return self._arm, self._next[self._run, self._seat, self._arm]

    def receive(self, inbox: Inbox) -> None:
        total, n = inbox.total("reward"), inbox.total("n")
        r, m = inbox.arrived[:, :, 0].nonzero()
        at = r, m, self._arm[r, m]
        self._next[at] *= np.where(self._n[at] == 0, 1, 2)
        self._mean[at] = total[r, m] / n[r, m]  # line 6
        self._n[at] = n[r, m]
        self._noised += np.bincount(r, minlength=len(self._n))

    def metrics(self, env: World) -> dict[str, Array]:
        """Return ``noised_means`` (R,): the number of noised means, one per first pull of an arm and one per episode.

        With ``require_calibrated=False`` also ``uncalibrated`` (R,): the index is not made for the mechanism's noise.
        """
        return {"noised_means": self._noised.copy(), **self._marks(len(self._n))}

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        """Return the claims of the env's mechanism, if it has one, restated for the agent's actions."""
        mechanism = getattr(env, "mechanism", None)
        if mechanism is None:
            return ()
        return tuple(
            replace(
                promise,
                mechanism=f"actions are made of {mechanism.name}'s sums alone, of which each reward is in one",
                view="an observer of all actions: every arm that is pulled, and how often",
                source="Azize & Basu 2022: AdaP is ε-globally private",
                run=ONCE,
                vetted=self.vetted if promise.vetted else (),
            )
            for promise in mechanism.claimed_guarantees(env)
        )

    def _borne_out(self, env: World) -> tuple[Guarantee, ...]:
        """Return the claimed guarantees, marked invalid if a guarantee of the env's mechanism is invalid."""
        held, mechanism = super()._borne_out(env), getattr(env, "mechanism", None)
        for standing in () if mechanism is None else mechanism.guarantees(env):
            words, known, reason = standing.claimed_by, standing.assumptions, standing.invalid_reason
            both = [tuple(dict.fromkeys((*promise.assumptions, *known))) for promise in held]
            held = tuple(
                invalid(promise, reason) if reason else replace(promise, claimed_by=words, assumptions=assumptions)
                for promise, assumptions in zip(held, both, strict=True)
            )
        return held


class AdaPUCB(AdaP):
    """AdaP-UCB (Azize & Basu 2022): AdaP with the index ``μ̃_a + √(α ln(2s)/(2n_a)) + α ln s/(εn_a)``.

    The noised mean μ̃_a of arm a is over n_a users, and s is the time.

    On `CentralDP-v0`, for rewards in [0, 1].  For α > 3 the regret after T pulls is at most ``Σ_{Δ_a > 0} (16 α ln T/
    min(Δ_a, ε) + α/(α − 3))`` (`azize2022_theory.regret_bound`).

    Parameters
    ----------
    epsilon : float, optional
        ε of the env's mechanism; left out, the env's own.  The same ε sets the index.
    alpha : float
        α > 0: the theorems take α > 3, the experiments 3.1.
    require_calibrated : bool
        False allows a mechanism that the index was not made for; the metric ``uncalibrated`` then marks the runs.

    Examples
    --------
    >>> import hushbandits as hb
    >>> results = hb.evaluate("CentralDP-v0", "AdaP-UCB", runs=2, env={"horizon": 10_000, "epsilon": 0.5})
    >>> results.final("epsilon").tolist()
    [0.5, 0.5]
    """

    name = "AdaP-UCB"

    def index(self, mean: Array, n: Array, s: Array) -> Array:
        sampling = np.sqrt(self.alpha * np.log(INSIDE * s) / (2 * n))
        return mean + sampling + self.alpha * np.log(s) / (self._epsilon * n)


@jit
def _kl_indices(mean: Array, level: Array, out: Array) -> None:
    for i in range(mean.size):
        out[i] = kl_upper(mean[i], level[i])


class AdaPKLUCB(AdaP):
    """AdaP-KLUCB (Azize & Basu 2022): AdaP with the index ``max{q ∈ [0, 1] : kl(m_a, q) ≤ α ln s/n_a}`` of arm a.

    Here s is the time, and n_a is the number of users in arm a's noised mean μ̃_a.

    Here ``m_a = min(max(μ̃_a + α ln s/(εn_a), 0), 1)``, and kl is the Bernoulli divergence.  On `CentralDP-v0`, for
    Bernoulli rewards.  Its regret matches the lower bound (`azize2022_theory.least_regret`) up to constants that the
    text does not state.

    Parameters
    ----------
    epsilon : float, optional
        ε of the env's mechanism; left out, the env's own.  The same ε sets the index.
    alpha : float
        α > 0: the theorems take α > 3, the experiments 3.1.
    require_calibrated : bool
        False allows a mechanism that the index was not made for; the metric ``uncalibrated`` then marks the runs.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = {"horizon": 10_000, "rewards": "bernoulli"}
    >>> ours, theirs = (hb.evaluate("CentralDP-v0", agent, runs=5, env=env) for agent in ("AdaP-KLUCB", "DP-SE"))
    >>> bool(ours.final("regret").mean() < theirs.final("regret").mean())
    True
    """

    name = "AdaP-KLUCB"

    def index(self, mean: Array, n: Array, s: Array) -> Array:
        level = self.alpha * np.log(s) / n
        clipped = np.clip(mean + level / self._epsilon, 0.0, 1.0)
        out = np.empty_like(clipped)
        _kl_indices(clipped.reshape(-1), level.reshape(-1), out.reshape(-1))
        return out
