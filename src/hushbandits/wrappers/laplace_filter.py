"""Laplace noise on the numbers that agents say, up to a budget of ε for a run."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from hushbandits.core import Fields, Metric, Payload, Streams, Uniforms, World, Wrapper, require, set_rows
from hushbandits.core.guarantee import IDEALISED, SIMULATED, Adjacency, Guarantee, Run, invalid, spoken_beside
from hushbandits.core.utils import Array, divisor
from hushbandits.privacy.laplace import laplaces


class LaplaceFilter(Wrapper):
    """Wrapper that adds ``Lap(2/ε)`` to each number that an agent says, and scales down what exceeds its budget.

    The numbers of a run add up to at most 1 in absolute value, whatever an agent says and however it chooses.  With
    other rewards, it might thus have said numbers that differ by at most 2 in all: its messages are ε-private for all
    its rewards together, by any policy.  A number v spends ``ε|v|``; when it has spent ε, noise alone goes out, which
    nobody can tell from words.  What is spent depends on rewards, and is known to the agent and the experimenter alone.

    Source: Dwork, McSherry, Nissim & Smith 2006 (Laplace mechanism); Rogers, Roth, Ullman & Vadhan 2016 (a filter stops
    what is chosen adaptively at a budget).

    Parameters
    ----------
    epsilon : float
        ε of all messages of an agent in a run.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_batched("PricedNetwork-Train-v0", epsilon=2.0)
    >>> [(g.epsilon, g.adjacency.replaced) for g in env.guarantees()]
    [(2.0, 'participant')]
    """

    logged_metrics = ("epsilon",)
    metrics_spec: ClassVar[Mapping[str, Metric]] = {"epsilon": Metric("ε spent by an agent, on average", "amount")}
    vetted = ("proof",)
    _noise: Uniforms
    _said: Array

    def __init__(self, epsilon: float = 1.0, *, name: str | None = None):
        super().__init__(name=name)
        self.epsilon = divisor("epsilon", epsilon)
        #: Scale of the noise on each number.
        self.noise_scale = 2.0 / self.epsilon

    def message_fields(self, fields: Fields, env: World) -> Fields:
        require(self.name, ("numbers",), fields)
        return {**fields, "numbers": replace(fields["numbers"], low=None, high=None)}

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        noise = rng.reader((env.n_agents, env.n_arms), "add")
        set_rows(self, rows, _noise=noise, _said=np.zeros((len(rng), env.n_agents)))

    def send(self, message: Payload, env: World) -> Payload:
        size = np.abs(message["numbers"]).sum(2) * (message["sent"] & env.running[:, None])
        share = np.minimum(1.0, (1.0 - self._said) / np.maximum(size, 1e-300))
        self._said = np.minimum(self._said + share * size, 1.0)
        noise = laplaces(self._noise.next(), self.noise_scale)
        return message.with_fields(numbers=share[..., None] * message["numbers"] + noise)

    def metrics(self, env: World) -> dict[str, Array]:
        return {"epsilon": self.epsilon * self._said.mean(1)}

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        inputs = "all rewards of one agent replaced by any others in [0, 1]"
        text, view = f"Laplace(2/{self.epsilon:g}) on numbers that add up to at most 1", "everyone else: all messages"
        words, source = ("rewards in [0, 1]", IDEALISED, SIMULATED), "Dwork et al. 2006; Rogers et al. 2016"
        claim = Guarantee(text, self.epsilon, 0.0, Adjacency(inputs, "participant"), view, words, source)
        claim = replace(claim, run=Run(1, "all rewards of an agent at once"), vetted=self.vetted)
        reason = spoken_beside(env)
        return (invalid(claim, reason) if reason else claim,)
