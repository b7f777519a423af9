"""Huber contamination, in which rewards in messages are replaced at random."""

import math

import numpy as np

from hushbandits.core import Array, Law, Payload, Streams, World, Wrapper, flag, probability, real, set_rows
from hushbandits.core.payload import Stream
from hushbandits.core.random.arms import make_law
from hushbandits.core.random.names import RELAYS
from hushbandits.core.random.rewards import Uniform


def drawn(rngs: list[np.random.Generator], n: int, fraction: float) -> Array:
    """Return which agents are Byzantine in each run, ``(R, n)``: ⌊`fraction`·n⌋ random ones of n agents."""
    out = np.zeros((len(rngs), n), bool)
    for row, rng in zip(out, rngs, strict=True):
        row[rng.permutation(n)[: math.floor(fraction * n)]] = True
    return out


class Huber(Wrapper):
    """Wrapper that contaminates *reported* rewards at rate ϵ; an agent's own statistics stay uncontaminated.

    With probability `rate` the reward in a byzantine agent's message is replaced by a draw from a fixed law Q.  Source:
    Dubey & Pentland 2020, section 4; Huber 1964.

    Parameters
    ----------
    rate : float
        Contamination rate ϵ ∈ [0, 1].
    law : str or Law
        Family of Q: ``"uniform"``, ``"constant"`` (a worst case), or any reward law.
    location : float
        Q's location; by default Q is uniform on [0, 1].
    fraction : float
        Fraction of agents that are byzantine: ``⌊fraction·M⌋`` of them, drawn per run (network); each user with
        this probability (feedback).
    relays : bool
        Byzantine agents also corrupt, with the same probability, each report of others that they send on (network):
        then a report that took h hops is corrupt with probability at most hϵ.
    """

    byzantine: Array  # (R, M) bool
    _stream: Stream
    _relays: list[np.random.Generator]

    def __init__(
        self,
        rate: float = 0.05,
        law: str | Law = Uniform(),
        location: float = 0.5,
        fraction: float = 1.0,
        relays: bool = False,
        *,
        name: str | None = None,
    ):
        super().__init__(name=name)
        self.rate = probability("rate", rate)
        self.law = make_law(law, "law")
        low, high = self.law.locations
        self.location = real("location", location, low, high, closed="both" if math.isfinite(low) else "")
        #: Whether replaced rewards may lie outside [0, 1].
        self.strays = not self.law.inside(np.array(self.location))
        self.fraction = probability("fraction", fraction)
        self.relays = flag("relays", relays)
        self.operations = ("replace", "relay") if self.relays else ("replace",)

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        byzantine = drawn(rng.generators(), env.n_agents, self.fraction)
        stream = env.message_class.stream("replace", env, rng)
        set_rows(self, rows, byzantine=byzantine, _stream=stream, _relays=rng.generators(RELAYS))

    def send(self, message: Payload, env: World) -> Payload:
        known = env.message_class.identified_senders  # else a sender is byzantine with probability `fraction`
        share = np.take_along_axis(self.byzantine, env.active_agents, 1) if known else self.fraction
        return message.replace(self.rate * share, self.law, self.location, self._stream)

    def relay(self, run: int, relay: Array) -> tuple[Array, Array]:
        """Return whether each forwarded copy is changed, and its new value; agent ``relay[i]`` forwards copy i.

        Both arrays are ``(n,)``.
        """
        coin, u = self._relays[run].random((len(relay), 2)).T
        hit = self.byzantine[run, relay] & (coin < self.rate)
        drawn = np.zeros(len(relay))
        drawn[hit] = self.law.quantile(u[hit], np.array(self.location))
        return hit, drawn
