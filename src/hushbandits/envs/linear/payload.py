"""Messages of a linear bandit, sums of feature products and of rewards, and what wrappers may do to them."""

from collections.abc import Collection
from typing import Self, cast

from hushbandits.core import Array, Channel, Fields, World
from hushbandits.core.payload import OPERATIONS, Sealing, Shuffling
from hushbandits.envs.linear.server import FIELDS
from hushbandits.envs.rounds.reports import Reports, SealedFields, ShuffledFields

#: Operations that change rewards.
_REWARDS = {"replace", "map", "add"}


def served(name: str, env: World, *personal: str) -> None:
    """Raise ``ValueError`` if agents flood their increments over a graph, or for a server with a rule of `personal`."""
    if env.server in personal:
        raise ValueError(f"server={env.server!r} of the env goes by who uploads what, which {name} hides")
    if env._server.rule == "flood":
        raise ValueError(f"graph= of the env must be None for {name}, which stands before a server")


class Increments(Reports):
    """Payload of one upload per agent and round: ``gram`` Σ x xᵀ, ``moment`` Σ r x, and ``pulls``, their number.

    What wrappers do to a round's ``reward``, which itself is not sent, they do to Σ r x.

    Examples
    --------
    >>> sorted(Increments.operations)
    ['add', 'drop', 'map', 'replace', 'seal', 'shuffle']
    """

    noun = "sums of features and rewards"
    operations = dict.fromkeys((*Reports.operations, "shuffle", "seal"), FIELDS)

    @classmethod
    def follows(cls, name: str, verb: str, fields: Fields, before: Collection[str]) -> None:
        """Raise ``ValueError`` if an earlier wrapper changes who sends which pulls, whose rewards `name` changes."""
        if verb in _REWARDS and (late := {*before} - _REWARDS):
            raise ValueError(f"{name} must change rewards before uploads are {OPERATIONS[min(late)]}: put it first")

    def with_fields(self, **changes: object) -> Self:
        """Return a copy with `changes`; a changed reward changes the upload with that pull, now or later."""
        if "reward" in changes:
            off = cast(Array, changes["reward"]) - self["reward"]
            changes["moment"] = self["moment"] + self["owed"](off, self["sent"])
        return super().with_fields(**changes)

    @classmethod
    def shuffled(cls, by: Shuffling, env: World) -> Channel:
        """Return the channel that shuffles a round's uploads."""
        served(by.name, env, "answer", "differences")
        return ShuffledFields(by, FIELDS)

    @classmethod
    def sealed(cls, by: Sealing, env: World) -> Channel:
        """Return the channel that releases the sum of a round's uploads."""
        served(by.name, env, "differences")
        return SealedFields(by, FIELDS, env.n_agents)
