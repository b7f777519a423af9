"""Ideal secure aggregation: a modular sum, and nothing else; what is added up is the setting's to say."""

from __future__ import annotations

from hushbandits.core.ground.limits import LARGEST_NUMBER
from hushbandits.core.ground.validate import integer, real
from hushbandits.core.guarantee import Adjacency, Guarantee
from hushbandits.core.payload import Channel
from hushbandits.core.roles import SecureFunction
from hushbandits.core.world import World
from hushbandits.wrappers.passage import Passage

__all__ = ["SecAgg"]

_ROOM = 1 << 62  # sums of residues are reduced after they are added


class SecAgg(Passage, SecureFunction):
    """An ideal secure aggregation between senders and receivers: they get ``Σ y mod m`` and nothing else.

    Feedback: adds a block's messages up; a mechanism before it names the modulus, raw rewards are encoded on a
    fixed-point grid here.  Network: each receiver gets, of what arrives in a round, the pulls and reward sums per arm
    (codes one-hot in the arm, rewards rounded to the grid), so the inbox has a `tally` and nothing else.  Exploration:
    the coordinator gets the votes per arm of a window of activations.  A cohort smaller than `min_cohort` reveals
    nothing at all: in feedback its messages are lost, in exploration the window stays open, and in network, where a
    cohort is those who report one arm to one receiver in one round, the arm looks as if nobody had pulled it.  Source:
    Bonawitz et al. 2017 (the protocol that this idealises).

    Parameters
    ----------
    min_cohort : int
        Fewest messages that are added up, ≥ 2: the sum of one message is the message.
    grid : int
        Fixed-point steps per unit reward where no mechanism has encoded rewards.
    bound : float
        Network: the largest reported ``|reward|`` that the modulus makes room for; a larger one raises.
    window : int, optional
        Exploration only, and needed there: activations per sum.
    """

    verbs = ("seal",)

    def __init__(
        self,
        min_cohort: int = 2,
        grid: int = 1 << 16,
        bound: float = 1.0,
        window: int | None = None,
        *,
        name: str | None = None,
    ):
        super().__init__(name=name)
        self.bound = real("bound", bound, 0, LARGEST_NUMBER)
        self.window = None if window is None else integer("window", window, 2)
        self.min_cohort = integer("min_cohort", min_cohort, 2)
        self.grid = integer("grid", grid, 1, 1 << 30)

    def room(self, what: str, n: int, most: int) -> None:
        """Raise ``ValueError`` unless `most`, what `n` messages (`what`: users, …) may add up to, is far below 2⁶³."""
        if most >= _ROOM:
            raise ValueError(
                f"{self.name} with grid={self.grid} and bound={self.bound:g}: {what} {n} adds up to {most:.3g}, "
                f"and sums must stay below 2^62 = {_ROOM:.3g}; give it a smaller grid"
            )

    def channel(self, env: World) -> Channel:
        return env.payload.sealed(self, env)

    def promises(self, env: World) -> tuple[Guarantee, ...]:
        cohort = self.channel(env).cohort
        between = (
            "receivers do not pool their sums: cohorts of neighbours overlap, and the difference of two sums that "
            "differ in one sender is its message",
            "nobody in a cohort gives its own message away: those of min_cohort − 1 others leave one",
        )
        return (
            Guarantee(
                mechanism=f"ideal modular sum over at least {self.min_cohort} messages {cohort}",
                epsilon=float("inf"),
                delta=0.0,
                adjacency=Adjacency("any two sets of messages with the same sum", "none"),
                view="the receiver: the sum; it learns nothing else, and all of the sum",
                assumptions=("an ideal functionality: no collusion, no cryptography", *between),
                source="Bonawitz et al. 2017",
            ),
        )
