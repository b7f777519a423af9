"""A false guarantee about actions: an agent on a mechanism with half of its declared noise."""

from hushbandits.agents.azize2022 import AdaPUCB
from hushbandits.privacy.samplers import Laplace
from hushbandits.wrappers.central_dp import CentralLaplace


class Halved(CentralLaplace):
    """Lap(1/(2ε)) instead of Lap(1/ε), with an incorrect declared law."""

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
    """Almost no noise, with an incorrect declared law."""

    scale = 1e-3


class BareUCB(AdaPUCB):
    """AdaP-UCB on it."""

    mechanisms, wrappers = ("Bare",), ("halved:Bare",)
