"""What a secure sum sends, byte for byte, where nobody drops out."""

from __future__ import annotations

from hushbandits.secure import primitives
from hushbandits.secure.messages import DIGEST, HEADER, packed
from hushbandits.secure.shamir import SHARE
from hushbandits.secure.user import PAIR

__all__ = ["traffic"]

_NAME, _WHOLE = 4, HEADER + DIGEST


def traffic(
    n: int, length: int, modulus: int, neighbours: int | None = None, malicious: bool = False
) -> tuple[int, int]:
    """Bytes that a user sends and gets in one sum, headers and all.

    Parameters
    ----------
    n : int
        Users.
    length : int
        Numbers per vector.
    modulus : int
        m: a number takes ⌈log₂ m⌉ bits.
    neighbours : int, optional
        By default everybody.
    malicious : bool
        With signatures.

    Examples
    --------
    >>> traffic(1000, 10, 1 << 40, 100)
    (13170, 16144)

    The setting of Bonawitz et al. 2017, figure 1: 1,024 users and 2²⁰ numbers of 16 bits, in all over what is added up.

    >>> round(sum(traffic(1024, 1 << 20, 1 << 26)) / (2 << 20), 2)
    1.77
    """
    k = n - 1 if neighbours is None else min(neighbours + neighbours % 2, n - 1)
    keys = 2 * primitives.KEY + malicious * primitives.SIGNATURE
    up = [keys, DIGEST + primitives.KEY + k * (_NAME + PAIR + primitives.BOX), DIGEST + packed(length, modulus)]
    up += [DIGEST + primitives.SIGNATURE] * malicious + [DIGEST + k * (_NAME + 3 + SHARE)]
    down = [k * (_NAME + keys), k * (_NAME + PAIR + primitives.BOX), _NAME * (3 + k)]
    down += [k * (_NAME + primitives.SIGNATURE)] * malicious
    return sum(up) + _WHOLE * len(up), sum(down) + _WHOLE * len(down)
