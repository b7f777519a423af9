"""Tree aggregation of feature sums: releases of noisy partial sums, from which a server adds up its sums.

Chan, Shi & Song 2011, "Private and Continual Release of Statistics", and Dwork, Naor, Pitassi & Rothblum 2010; on
matrices: Shariff & Sheffet 2018.
"""

import math
from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from hushbandits.core import Fields, Metric, Payload, Streams, Uniforms, World, Wrapper, require, set_rows
from hushbandits.core.guarantee import IDEALISED, SIMULATED, Adjacency, Guarantee, Run
from hushbandits.core.random.gauss import normal
from hushbandits.core.utils import Array, choice, divisor, integer, real
from hushbandits.privacy.tree import SCALES, frobenius, gaussian_costs, gaussian_together, sensitivity, unpacked

#: The neighbours of a promise, and how it adds up.
USER = Adjacency("one user of one round of one agent replaced: its context set and its reward", "user")
ONCE = Run(1, "a user takes part in one round")
#: What a promise stands on besides its law.
FROZEN = "within a batch, agents act by what has been released and by the context at hand alone"
_UNITS = "features of norm at most 1, rewards in [0, 1]"


class Tree(Wrapper):
    """Base class of wrappers that keep a tree of partial sums (p-sums), and release one p-sum with every batch.

    Batch k, whose lowest set bit is i, closes the p-sum of the last 2^i batches.  What is released at k stands in the
    server's sums for that of the last i releases, so the message holds the difference: the server adds.

    Parameters
    ----------
    epsilon, delta : float
        ε and δ for one user: the context set and the reward of one round of one agent.
    batch : int or None
        B: every agent releases when it has acted B times more.  ``None``: when agents send, which promises nothing.
    own_feedback : str
        ``"private"``: agents see none of their rewards, and their pulls enter the tree without them; ``"true"``: they
        see their rewards and send their own sums, which promises nothing.
    """

    metrics_spec: ClassVar[dict[str, Metric]] = {
        "epsilon": Metric("ε spent on one user, at most", "amount"),
        "delta": Metric("δ spent on one user, at most", "share"),
    }
    #: The standard deviation of the noise in an entry of the server's sums, at most; λ of agents grows with it.
    total: float
    #: ε at δ, and δ at ε, of a user in 0 … κ p-sums.
    costs: tuple[tuple[float, float], ...]
    #: Why the noise does not bear out ε and δ, or ``""``.
    flaw: str
    _open: Array  # (R, M, d, d + 1) sums of x xᵀ and of r x, not yet released
    _turns: Array  # (R, M) rounds in which an agent has acted
    _batches: Array  # (R, M) releases

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        batch: int | None = 25,
        own_feedback: str = "private",
        *,
        name: str | None = None,
    ):
        super().__init__(name=name)
        self.epsilon, self.delta = divisor("epsilon", epsilon), real("delta", delta, 0, 1)
        self.batch = None if batch is None else integer("batch", batch, 1)
        self.own_feedback = choice("own_feedback", own_feedback, ("true", "private"))
        if batch is None and own_feedback == "private":
            raise ValueError("batch=None needs own_feedback='true': who sees no rewards cannot time messages by them")

    def message_fields(self, fields: Fields, env: World) -> Fields:
        require(self.name, ("gram", "moment", "pulls"), fields)
        #: K, the most releases of an agent, and κ, the most p-sums that hold one user.
        self.batches = int(env.horizon) // (self.batch or 1)
        self.depth = max(1, self.batches.bit_length())
        self._plan(env)
        return fields

    def own_reward_field(self, fields: Fields, env: World) -> Fields:
        return {k: f for k, f in fields.items() if k != "reward" or self.own_feedback == "true"}

    @abstractmethod
    def _plan(self, env: World) -> None:
        """Set `total`, `costs`, `flaw` and the noise, for the horizon and the sizes of `env`."""

    @abstractmethod
    def _release(self, r: Array, m: Array, k: Array, sent: Array) -> Array:
        """Return what batch `k` of agent `m` of run `r` adds to the server's sums, ``(n, d, d + 1)``."""

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        shape, d = (len(rng), env.n_agents), env.n_features
        counts = np.zeros((2, *shape), np.int64)
        set_rows(self, rows, _open=np.zeros((*shape, d, d + 1)), _turns=counts[0], _batches=counts[1])

    def send(self, message: Payload, env: World) -> Payload:
        """Add the round's pulls to the open batches; release the p-sums of the batches that close."""
        private, who = self.own_feedback == "private", env.active_agents
        at = np.arange(len(who))[:, None], who
        sums = env._report(message["reward"]) if private else message  # as wrappers before it have changed it
        self._gather(np.concatenate([sums["gram"], sums["moment"][..., None]], 3), message["sent"], at)
        self._turns[at] += env.running[:, None]
        sent, pulls = message["sent"], message["pulls"]
        if private:
            sent = (self._turns[at] % self.batch == 0) & env.running[:, None]
            pulls = np.full(sent.shape, self.batch)
        blocks = np.zeros((*sent.shape, *self._open.shape[2:]))
        if sent.any():
            r, a = sent.nonzero()
            m = who[r, a]
            self._batches[r, m] += 1
            if (k := self._batches[r, m]).max() > self.batches:
                raise ValueError(f"{self.name} has noise for {self.batches} messages of an agent, not for {k.max()}")
            blocks[r, a] = self._release(r, m, k, sent)
            self._open[r, m] = 0.0
        return message.with_fields(gram=blocks[..., :-1], moment=blocks[..., -1], pulls=pulls, sent=sent)

    def _gather(self, blocks: Array, there: Array, at: tuple[Array, Array]) -> None:
        """Add the sums `blocks` of the agents `at` to their open batches, where they are `there`."""
        self._open[at] += blocks * there[..., None, None]

    def metrics(self, env: World) -> dict[str, Array]:
        spent = np.array(self.costs)[np.frexp(self._batches.max(1))[1]]
        return {"epsilon": spent[:, 0], "delta": np.where(env.infinite_cost(self), 1.0, spent[:, 1])}

    def _claim(self, text: str, view: str, source: str, words: tuple[str, ...] = ()) -> Guarantee:
        words = _UNITS, FROZEN, *words, IDEALISED, SIMULATED
        return Guarantee(text, self.epsilon, self.delta, USER, view, words, source, run=ONCE, vetted=self.vetted)

    def invalid_reason(self, env: World, known: tuple[type, list[str]] | None = None) -> str:
        """Return why nothing is promised in `env`, or ``""``: what is said of a tree, and then of all wrappers."""
        if self.batch is None:
            why = "agents time their messages by exact sums (batch=None), and an exact trigger is itself a release"
            return f"{why}; Private-FedLinUCB has batches instead"
        if self.own_feedback == "true":
            return "agents see their exact rewards (own_feedback='true'): one user steers later arms in its message"
        if said := [name for name in env.fields if name not in env.report]:
            return f"agents say {' and '.join(said)} themselves, and they know their users' contexts"
        if env.contexts.norm > 1 + 1e-9:
            return f"features of {env.contexts!r} have norms up to {env.contexts.norm:g}, and the noise is for 1"
        far = [w.name for w in env.wrappers if w.noise_range or getattr(w, "strays", False)]
        why = f"{far[0]} takes rewards out of [0, 1], for which the noise is" if far else ""
        return self.flaw or super().invalid_reason(env, known) or why


class TreeGaussian(Tree):
    """Wrapper with a tree of each agent, whose p-sums have independent Gaussian noise (local at the agents).

    A p-sum is released as ``P = Σ (x xᵀ, r x) + (Z, z)`` with ``Z = (N + Nᵀ)/2``, and N, z iid N(0, σ²): Z is the
    isotropic Gaussian of the Frobenius norm.

    Parameters
    ----------
    *args, **rest
        As in `Tree`: ε, δ, B and `own_feedback`.
    sigma : float or str
        σ: a number; ``"exact"``, the least one, ``√(4.5κ)/μ(ε, δ)``; or of released code: ``"zhou2024"``,
        ``√(κ(ln(1/δ) + ε))/ε``; ``"dubey2020"``, ``√(80(1 + ⌈ln T⌉)) ln(10/δ)/ε``; ``"shariff2018"``,
        ``8√(1 + ⌈log₂ T⌉) ln(4/δ)/ε``; √2 times that for Z in the last two.
    nodes : str
        ``"fresh"``: noise of its own for each p-sum; ``"levels"``: no tree, but noise that is drawn when
        ``1 + ⌈log₂ k⌉`` grows and stays in the sums, as in the code of Dubey & Pentland 2020: it promises nothing.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_batched("PrivateFedLinear-v0", epsilon=1.0)
    >>> [(g.epsilon, g.delta, g.invalid_reason) for g in env.guarantees()]
    [(1.0, 1e-05, '')]
    >>> hb.make_batched("PrivateFedLinear-v0", sigma=5.0).guarantees()[0].invalid_reason
    'the law of its noise gives δ = 0.23 at ε = 1, not δ = 1e-05'
    """

    vetted = ("proof", "exact law", "audit", "dp-accounting")
    _noises: Array  # (R, M, κ, d, d + 1) noise of the latest p-sum of each level
    _stream: Uniforms

    def __init__(self, *args: Any, sigma: float | str = "exact", nodes: str = "fresh", **rest: Any):
        super().__init__(*args, **rest)
        self.sigma = choice("sigma", sigma, (*SCALES,)) if isinstance(sigma, str) else real("sigma", sigma, 0)
        self.nodes = choice("nodes", nodes, ("fresh", "levels"))

    def _plan(self, env: World) -> None:
        law, self.spread = SCALES.get(str(self.sigma), (None, 1.0))
        #: σ of z, σ·`spread` of Z, and what one p-sum costs a user, ``μ = Δ/σ``.
        self.scale = law(self.epsilon, self.delta, self.depth, int(env.horizon)) if law else float(self.sigma)
        self.mu = sensitivity(self.spread) / self.scale
        self.total = self.scale * math.sqrt(env.n_agents * self.depth)
        self.costs, self.flaw = gaussian_costs(self.epsilon, self.delta, self.mu, self.depth), ""
        if self.nodes == "levels":
            self.flaw = "most messages carry no noise of their own (nodes='levels')"
        elif (found := self.costs[-1][1]) > self.delta * (1 + 1e-6):
            self.flaw = f"the law of its noise gives δ = {found:.4g} at ε = {self.epsilon:g}, not δ = {self.delta:g}"

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        super().reset(env, rng, rows)
        d, stream = env.n_features, rng.reader((env.active_agents.shape[1], env.n_features * (env.n_features + 3) // 2))
        set_rows(self, rows, _noises=np.zeros((len(rng), env.n_agents, self.depth, d, d + 1)), _stream=stream)

    def _release(self, r: Array, m: Array, k: Array, sent: Array) -> Array:
        data, noise = self._open[r, m], self._noise(sent)
        if self.nodes == "levels":
            return np.where((((k - 1) & (k - 2)) == 0)[:, None, None], data + noise, data)
        # P of this batch less P of the last i releases: the data in them cancel, but for the batch
        level = np.frexp(k & -k)[1] - 1
        former: Array = (self._noises[r, m] * (np.arange(self.depth) < level[:, None])[..., None, None]).sum(1)
        self._noises[r, m, level] = noise
        return data + noise - former

    def _noise(self, sent: Array) -> Array:
        """Return the noise of the agents that send, ``(n, d, d + 1)``; a run in which nobody does draws nothing."""
        d, runs = self._open.shape[2], np.flatnonzero(sent.any(1))
        u = np.concatenate([self._stream.take(int(run), 1) for run in runs])[sent[runs]]
        return unpacked(self.scale * frobenius(d, self.spread) * normal(u), d)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        text = f"p-sums of a tree over {self.batches:,} batches, each with noise of σ = {self.scale:.4g}"
        source = "Dwork et al. 2010 and Chan et al. 2011 (tree); Balle & Wang 2018, theorem 8, at Δ² = 4.5 per p-sum"
        view, law = "the server and all other agents: all messages of an agent", self.mu * math.sqrt(self.depth)
        return (replace(self._claim(text, view, source), exact=partial(gaussian_together, law)),)
