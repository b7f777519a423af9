"""``hushbandits secagg-plan``: how many neighbours and what threshold a secure sum needs, and what it sends."""

from __future__ import annotations

import math

from hushbandits.core.ground.validate import integer, probability
from hushbandits.secure.costs import traffic
from hushbandits.secure.graph import neighbourhood

__all__ = ["secagg_plan"]


def secagg_plan(
    users: int, dropouts: float = 0.1, corrupt: float = 0.05, length: int = 10, bits: int = 32, security: int = 40
) -> int:
    """Say how many neighbours and what threshold SecAgg needs among so many users, and what a sum sends.

    Printed are the smallest number of neighbours k, a threshold t for it, and bytes per user. Then, but for a chance of
    2^-security, nobody has t neighbours who collude, everybody keeps t neighbours who answer, and the honest ones who
    answer hang together, so that the server learns one sum and no part of it. Example:

      hushbandits secagg-plan --users 1000 --dropouts 0.1 --corrupt 0.05

    Parameters
    ----------
    users
        In one sum.
    dropouts
        Fraction of them that may drop out.
    corrupt
        Fraction of them that may collude with the server.
    length
        Numbers in a vector.
    bits
        Of each of them as it is sent, the logarithm of the modulus.
    security
        The chance that it fails is at most 2^-security.
    """
    n, length = integer("--users", users, 2, 1 << 20), integer("--length", length, 1, 1 << 20)
    bits = integer("--bits", bits, 1, 62)
    security = integer("--security", security, 1, 256)
    gone, taken = probability("--dropouts", dropouts), probability("--corrupt", corrupt)
    k, t = neighbourhood(n, taken, gone, security)
    up, down = traffic(n, length, 1 << bits, k)
    whole = sum(traffic(n, length, 1 << bits))
    print(
        f"{n:,} users, of whom {math.ceil(gone * n):,} may drop out and {math.ceil(taken * n):,} may collude:\n"
        f"neighbours k = {k}, threshold t = {t}; that fails with probability at most 2^-{security}\n"
        f"a sum of {length:,} numbers of {bits} bits: {up:,} bytes up and {down:,} down per user, in 4 rounds\n"
        f"that is {(up + down) / whole:.1%} of what everybody as a neighbour would send\n"
        f'SecAgg(protocol="bonawitz", neighbours={k}, threshold={t})'
    )
    return 0
