"""Rules of released code as parts that claim what their papers claim, so that ``hushbandits audit`` can refute them.

What is audited is the rule of the released code, at the constants named here: not the papers' theorems, and not the
authors' intent.
"""

from typing import ClassVar

from hushbandits.agents.dubey2020_linear import FedUCB
from hushbandits.agents.zhou2024 import PrivateFedLinUCB, tree_of
from hushbandits.core import Guarantee, Requirements, Team, World, jit
from hushbandits.wrappers.tree import TreeGaussian
from hushbandits.wrappers.vector_sum import ShuffledVectorSum


@jit
def _always(t, since, grown, threshold):  # type: ignore[no-untyped-def]
    return True


class _Claimed(Team):
    """Base class of teams that claim what the tree of their env claims, at these parameters."""

    asks: ClassVar[dict[str, object]] = {"epsilon": 1.0, "delta": 0.1}

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require the parameters of the tree as well."""
        return Requirements(env={**super().requirements(settings).env, **self.asks})

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        return tree_of(env).claimed_guarantees(env)


class SkippedNoise(_Claimed, FedUCB):
    """FedUCB as released, synchronised in every round: most synchronisations draw no noise."""

    trigger = _always

    def __init__(self) -> None:
        super().__init__(as_released=True)


class ExactTrigger(_Claimed, FedUCB):
    """FedUCB as published, with exact noise: the time of a synchronisation is itself a release (D = 2.5)."""

    def __init__(self) -> None:
        super().__init__(threshold=2.5)


class SmallSigma(TreeGaussian):
    """The σ of the released Private-FedLinUCB at ε = 1 and δ = .1, in a tree of depth 9."""

    def __init__(self, *, name: str | None = None) -> None:
        super().__init__(1.0, 0.1, sigma="zhou2024", name=name)


class ActsWithin(_Claimed, PrivateFedLinUCB):
    """Private-FedLinUCB as released at ε = .2 and δ = .1, which acts within a batch on its exact sums."""

    asks: ClassVar[dict[str, object]] = {"epsilon": 0.2, "delta": 0.1, "sigma": "zhou2024"}

    def __init__(self) -> None:
        super().__init__(acts="within")


class WholeBudget(ShuffledVectorSum):
    """The released shuffled vector sum at ε = 1 and δ = 10⁻⁴, of which every p-sum spends the whole budget."""

    def __init__(self, *, name: str | None = None) -> None:
        super().__init__(1.0, 1e-4, budget="whole", name=name)
