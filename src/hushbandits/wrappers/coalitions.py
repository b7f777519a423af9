"""What a mechanism promises where some noise is missing: of users who dropped out, of users who collude."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from hushbandits.core.env_view import World
from hushbandits.core.guarantee import Guarantee, invalid
from hushbandits.core.wrapper import SecureFunction
from hushbandits.privacy.divergence import epsilon_at
from hushbandits.privacy.ledger import Spent
from hushbandits.privacy.noise import Profile

#: Ends what a promise against the server alone assumes of the users.
ALONE = "(honest= counts on fewer)"
#: Sizes of blocks that are all looked at, and as how many below each of the larger ones.
_SMALL, _NEAR = 32, 64


class Noised(Protocol):
    """A mechanism, as in `mechanism.Mechanism`."""

    honest: float
    delta: float

    @property
    def hidden_by(self) -> str:
        """What keeps a user's own message from the observer."""

    @property
    def smallest(self) -> int:
        """Fewest users of a block that is ever opened."""

    def sure(self, n: int) -> int:
        """Return to how many of `n` users noise is calibrated."""

    def colluders(self, n: int) -> int:
        """Return how many of `n` users may collude."""

    def price(self, n: int, survivors: int) -> Spent:
        """Return what a block costs."""

    def seen(self, n: int, survivors: int) -> Profile | None:
        """Return the divergence of what is seen of a block."""


def weighed(mechanism: Noised, env: World, promises: tuple[Guarantee, ...], larger: tuple[int, ...]) -> tuple[
    Guarantee, ...
]:  # fmt: skip
    """Return promises of what is opened though users drop out inside the secure function, and against colluders.

    Parameters
    ----------
    mechanism, env, promises
        The promises of `mechanism` where every user on whom its noise counts takes part.
    larger : tuple of int
        Sizes of blocks to look at, beside the small ones and the horizon.
    """
    secure = next((w for w in env.wrappers if isinstance(w, SecureFunction)), None)
    drops = secure is not None and secure.max_drop_fraction > 0
    if secure is None or mechanism.hidden_by != "sum" or not (drops or mechanism.honest < 1):
        return promises

    def opened(n: int) -> int:
        return min(mechanism.sure(n), secure.fewest(n, env)) if drops else mechanism.sure(n)

    def honest(n: int) -> int:
        return opened(n) - mechanism.colluders(n)

    out = []
    for promise in promises:
        if math.isfinite(promise.epsilon):
            sizes = _sizes(int(env.horizon), mechanism.smallest, larger)
            if drops and any(opened(n) < mechanism.sure(n) for n in sizes):
                promise = _dropped(mechanism, promise, sizes, opened, secure.name)
            out.append(promise)
            if mechanism.honest < 1:
                out.append(_against_colluders(mechanism, promise, sizes, honest, secure))
        else:
            out.append(promise)
    return tuple(out)


def _sizes(horizon: int, smallest: int, larger: tuple[int, ...]) -> list[int]:
    top = max(horizon, smallest)
    return [n for n in sorted({*range(smallest, _SMALL + 1), *larger, top}) if smallest <= n <= top]


def _dropped(
    mechanism: Noised, promise: Guarantee, sizes: list[int], opened: Callable[[int], int], secure: str
) -> Guarantee:
    epsilon, delta, n = _worst(mechanism, sizes, opened)
    if math.isinf(epsilon):
        why = f"{secure} opens blocks of {n} of which {opened(n)} are left, whose noise hides nothing"
        return invalid(promise, why)
    whose = f"{secure} opens no block of fewer than {opened(n)} of {n} users, whose noise is what counts"
    return replace(promise, epsilon=epsilon, delta=delta, exact=None, assumptions=(whose, *promise.assumptions[1:]))


def _against_colluders(
    mechanism: Noised, promise: Guarantee, sizes: list[int], honest: Callable[[int], int], secure: SecureFunction
) -> Guarantee:
    share = f"{1 - mechanism.honest:.3g} of a block's users, who subtract their noise"
    others = tuple(words for words in promise.assumptions if not words.endswith(ALONE))
    view = f"the server and, colluding with it, up to {share}"
    against = replace(promise, view=view, exact=None, assumptions=others)
    if math.isinf(promise.epsilon):
        return against
    if n := next((n for n in sizes if not secure.tolerates(n, mechanism.colluders(n))), 0):
        return invalid(against, f"{secure.name} does not bear {mechanism.colluders(n)} colluders among {n} users")
    epsilon, delta, n = _worst(mechanism, sizes, honest)
    if math.isinf(epsilon):
        return invalid(against, f"of {n} users {max(honest(n), 0)} are left whose noise nobody knows")
    if promise.exact is None:  # a claim may be above what the law gives
        epsilon = max(epsilon, promise.epsilon)
    return replace(against, epsilon=epsilon, delta=delta)


def _worst(mechanism: Noised, sizes: list[int], left: Callable[[int], int]) -> tuple[float, float, int]:
    """Largest ε and δ of blocks whose noise is that of ``left(n)`` users, and the size with this ε."""
    worst, most, where = 0.0, 0.0, sizes[0]
    for size in sizes:
        # Shares of whole users vary from size to size: the smallest nearby.
        near = range(max(size - _NEAR, _SMALL) + 1, size + 1) if size > _SMALL else (size,)
        n = min(near, key=lambda k: left(k) / mechanism.sure(k))
        epsilon, delta = _cost(mechanism, n, left(n))
        if epsilon > worst:
            worst, where = epsilon, n
        most = max(most, delta)
    return worst, most, where


def _cost(mechanism: Noised, n: int, left: int) -> tuple[float, float]:
    if left < 1:
        return math.inf, mechanism.delta
    spent = mechanism.price(n, left)
    if mechanism.delta and (profile := mechanism.seen(n, left)) is not None:
        exact = epsilon_at(profile, mechanism.delta)
        if exact < math.inf:
            return (min(exact, spent.epsilon) if spent.delta <= mechanism.delta else exact), mechanism.delta
    return spent.epsilon, spent.delta
