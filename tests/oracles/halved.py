"""A promise of actions that is false: an agent on a mechanism with half the noise that it says."""

from hushbandits.agents.azize2022 import AdaPUCB
from hushbandits.privacy.samplers import Laplace
from hushbandits.wrappers.central_dp import CentralLaplace


class Halved(CentralLaplace):
    """Lap(1/(2ε)) instead of Lap(1/ε), and a law that does not say so."""

    scale = None

    def deliver(self, inbox, env):
        self.added = lambda n: Laplace(self.scale or 0.5 / self.epsilon)
        try:
            return super().deliver(inbox, env)
        finally:
            del self.added


class HalvedUCB(AdaPUCB):
    """AdaP-UCB on it."""

    mechanisms, wrappers = ("Halved",), ("halved:Halved",)


class Bare(Halved):
    """No noise to speak of, and a law that does not say so."""

    scale = 1e-3


class BareUCB(AdaPUCB):
    """AdaP-UCB on it."""

    mechanisms, wrappers = ("Bare",), ("halved:Bare",)
