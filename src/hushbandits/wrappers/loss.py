"""Wrappers that drop messages or votes."""

from hushbandits.core import Fields, Guarantee, Payload, Streams, World, Wrapper, require, set_rows
from hushbandits.core.guarantee import hides
from hushbandits.core.payload import Stream
from hushbandits.core.utils import Array, probability, real
from hushbandits.envs.exploration.coordinator import FROM_BELOW


class Loss(Wrapper):
    """Wrapper that drops each message independently at its source with probability `rate`.

    A lost message reaches no receiver, and is never resent; a receiver of states (published means) uses the last one
    that it received.  Exploration loses single votes, not ballots; network one agent's report of one round; feedback
    one user's report.  This model is not from a paper.

    Parameters
    ----------
    rate : float
        Loss probability, in [0, 1].
    """

    operations = ("drop",)
    _stream: Stream

    def __init__(self, rate: float = 0.1, *, name: str | None = None):
        super().__init__(name=name)
        self.rate = self.drop_prob = probability("rate", rate)

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        set_rows(self, rows, _stream=env.message_class.stream("drop", env, rng))

    def send(self, message: Payload, env: World) -> Payload:
        return message.drop(self.rate, self._stream)


class VoteCorruption(Loss):
    """Wrapper that drops each vote with probability ξ: the corruption mask of Rio et al. 2023, algorithm 3.

    Parameters
    ----------
    xi : float
        ξ ∈ [0, 1).
    """

    def __init__(self, xi: float = 0.0, *, name: str | None = None):
        self.xi = real("xi", xi, 0, 1, closed="low")
        super().__init__(rate=self.xi, name=name)

    def message_fields(self, fields: Fields, env: World) -> Fields:
        require(self.name, ("vote",), fields)
        return fields

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        inputs = "none: (ε, η)-privacy bounds how often an observer names an agent's best arm"
        assumptions = FROM_BELOW, "seeded corruption is a simulation"
        text = f"each vote lost with probability {self.rate:g}"
        view, source = "an observer of one agent's messages who knows the algorithm", "Rio et al. 2023, proposition 5.1"
        return hides(text, inputs, view, assumptions, source, ("runs, which refute it",))
