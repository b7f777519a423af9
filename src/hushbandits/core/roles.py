"""The two parts of a privacy protocol that an env must be able to tell apart from other wrappers."""

from __future__ import annotations

from hushbandits.core.env_view import World
from hushbandits.core.utils import ships
from hushbandits.core.wrapper import Wrapper

__all__ = ["Privatizer", "SecureFunction"]


class Privatizer(Wrapper):
    """It privatizes rewards and decodes their sum: the local randomizer R and the analyzer A of a protocol."""


class SecureFunction(Wrapper):
    """It adds messages up and hides the single ones: the secure function S of a protocol."""

    @property
    def ours(self) -> bool:
        """As of every wrapper; a user-defined one that derives from this base must declare `preserves_guarantees`."""
        home = next(cls for cls in type(self).__mro__ if ships(cls))
        return super().ours and (home is not SecureFunction or self.declares)

    def fewest(self, n: int, env: World) -> int:
        """Fewest messages whose sum is opened, of a block of `n` users that may get lost here; 0: nobody knows."""
        return 0

    def enforces(self, env: World) -> bool:
        """Whether no sum is opened of fewer users than the mechanism's noise is calibrated to."""
        return False

    def tolerates(self, n: int, colluders: int) -> bool:
        """Whether it shows no more than the sum to so many colluding users of `n` and the server."""
        return True
