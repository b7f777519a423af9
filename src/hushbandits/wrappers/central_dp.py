"""Central DP, in which a trusted server adds noise to the sums of blocks."""

from typing import Any

import numpy as np

from hushbandits.core import Array, Fields, Guarantee, Inbox, Noise, Payload, World, flag
from hushbandits.envs.feedback.users import BlockInbox, blocks
from hushbandits.privacy import plans, samplers
from hushbandits.privacy.noise import NoiseLaw
from hushbandits.privacy.plans import Plan, Release
from hushbandits.wrappers.mechanism import Standalone


class CentralLaplace(Standalone):
    """Central DP: users send clipped rewards, and the analyzer adds one Laplace sample to a block's sum.

    Continuous: ``Lap(1/ε)`` on Σx, that is ``Lap(1/(εn))`` on the mean (Sajed & Sheffet 2019).  Discrete: rewards
    are encoded at precision ``g = ⌈ε√n⌉`` and Lap_ℤ(g/ε) is added mod m (Chowdhury & Zhou 2023, theorem 5).

    Parameters
    ----------
    discrete : bool
        Integer noise on encoded rewards.
    """

    def __init__(self, epsilon: float = 1.0, *, discrete: bool = False, **rest: Any):
        super().__init__(epsilon, **rest)
        self.discrete = flag("discrete", discrete)

    hidden_by = "server"

    @property
    def in_one_pass(self) -> bool:
        return self.discrete and self.noise != "exact" and self.keeps(CentralLaplace, "added")

    def added(self, n: int) -> NoiseLaw:
        """Return the distribution of the server's noise on the sum of a block planned for `n` users."""
        if not self.discrete:
            return samplers.Laplace(1 / self.epsilon)
        return samplers.DiscreteLaplace(self.planned(n).g / self.epsilon)

    def noise_of(self, n: int) -> Noise:
        return self._law(self.added(n))

    def plan(self, n: int) -> Plan:
        return plans.central_pure(n, self.epsilon, self._p)

    def message_fields(self, fields: Fields, env: World) -> Fields:
        return super().message_fields(fields, env) if self.discrete else self._raw(fields, env)

    def send(self, message: Payload, env: World) -> Payload:
        if self.discrete:
            return super().send(message, env)
        self._sizes = message["reward"].planned
        return message.clip()

    def release(self, n: int, survivors: int) -> Release:
        plan = self.planned(n)
        return Release(self.added(n), 1, 1, *((plan.g, plan.modulus) if self.discrete else (1, 0)))

    def _details(self, n: int) -> dict[str, object]:
        return {"g": self.planned(n).g if self.discrete else 1, "noise": repr(self.added(n))}

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        assert isinstance(inbox, BlockInbox)
        y, n = inbox.total("reward"), inbox.total("n")
        if self.noise == "exact" and not self.discrete:  # bits below the grid of the noise would show
            y = np.rint(y * samplers.GRID) / samplers.GRID
        inbox = inbox.decoded(y + self.noise_on(np.where(n > 0, self._sizes, 0)))
        if self.discrete:
            return super().deliver(inbox, env)
        self.ledger.use(self._sizes, n)
        return inbox

    def noise_on(self, sizes: Array) -> Array:
        """Return a sample of the server's noise on the sum of each block, ``(R, M)``; 0 for blocks without users."""
        noise = np.zeros(sizes.shape, np.int64 if self.discrete else float)
        for r, m, n in blocks(sizes):
            noise[r, m] = self._noises(n).draw(self.rngs[r], 1)[0]
        return noise

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        noise, source = "Lap(1/ε) on the sum", "Sajed & Sheffet 2019"
        if self.discrete:
            noise, source = "Lap_ℤ(g/ε) on the encoded sum", "Chowdhury & Zhou 2023, theorem 5"
        view = "the reader of the decoded sums; the server itself is trusted with the rewards"
        text = f"{noise} of a block, ε = {self.epsilon:g}, added by the server"
        return (self._promise(text, view, source, ("a trusted server",)),)
