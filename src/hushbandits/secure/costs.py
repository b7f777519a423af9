"""What a secure sum sends, byte for byte, where nobody drops out."""

from __future__ import annotations

from hushbandits.secure import primitives
from hushbandits.secure.messages import DIGEST, HEADER
from hushbandits.secure.shamir import SHARE
from hushbandits.secure.user import PAIR

__all__ = ["traffic"]

_NAME, _WHOLE = 4, HEADER + DIGEST


def traffic(n: int, length: int, neighbours: int | None = None, malicious: bool = False) -> tuple[int, int]:
    """Bytes that a user sends and gets in one sum, headers and all.

    Parameters
    ----------
    n : int
        Users.
    length : int
        Numbers per vector.
    neighbours : int, optional
        By default everybody.
    malicious : bool
        With signatures.

    Examples
    --------
    >>> traffic(1000, 10, 100)
    (13200, 16144)
    """
    k = n - 1 if neighbours is None else min(neighbours + neighbours % 2, n - 1)
    keys = 2 * primitives.KEY + malicious * primitives.SIGNATURE
    up = [keys, DIGEST + primitives.KEY + k * (_NAME + PAIR + primitives.BOX), DIGEST + 8 * length]
    up += [DIGEST + primitives.SIGNATURE] * malicious + [DIGEST + k * (_NAME + 3 + SHARE)]
    down = [k * (_NAME + keys), k * (_NAME + PAIR + primitives.BOX), _NAME * (3 + k)]
    down += [k * (_NAME + primitives.SIGNATURE)] * malicious
    return sum(up) + _WHOLE * len(up), sum(down) + _WHOLE * len(down)
