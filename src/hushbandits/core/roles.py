"""The two parts of a privacy protocol that an env must be able to tell apart from other wrappers."""

from __future__ import annotations

from hushbandits.core.ground.strangers import ships
from hushbandits.core.wrapper import Wrapper

__all__ = ["Privatizer", "SecureFunction"]


class Privatizer(Wrapper):
    """It privatizes rewards and decodes their sum: the local randomizer R and the analyzer A of a protocol."""


class SecureFunction(Wrapper):
    """It adds messages up and hides the single ones: the secure function S of a protocol."""

    @property
    def ours(self) -> bool:
        """As of every wrapper; a user-defined one that derives from this base must declare `keeps_promises`."""
        home = next(cls for cls in type(self).__mro__ if ships(cls))
        return super().ours and (self.declares or home is not SecureFunction)
