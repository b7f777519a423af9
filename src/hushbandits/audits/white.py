"""White box: promises, prices and the ledger held against the exact law of what the plan adds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import fft

from hushbandits.audits.laws import log_pair
from hushbandits.audits.verdict import Verdict
from hushbandits.core.ground.types import Array
from hushbandits.core.guarantee import Guarantee
from hushbandits.privacy.divergence import epsilon_at, worst_profile
from hushbandits.privacy.ledger import Ledger
from hushbandits.privacy.noise import Profile
from hushbandits.wrappers.mechanism import Mechanism

__all__ = ["composed_delta", "compositions", "every_size", "white_box"]

_RESOLUTION = 1e-12  # what rounding may add to a δ
_law = Mechanism.seen  # a block's exact divergence by its release, whatever a subclass's `seen` says


def _held(
    law: Profile, epsilon: float, delta: float, subject: str, check: str, promise: Guarantee | None = None
) -> Verdict:
    """Hold (ε, δ) against a law: by ε where δ is 0, and rounding has the last word on it, else by the δ at this ε."""
    if not delta:
        return Verdict(subject, check, epsilon, epsilon_at(law, _RESOLUTION), "ε", promise=promise, least=epsilon)
    found = float(law(np.array([epsilon * (1 + 1e-9)]))[0])
    rounded = found if found > delta * (1 + 1e-6) + _RESOLUTION else min(found, delta)
    return Verdict(subject, check, delta, rounded, f"δ at ε = {epsilon:.4g}", promise=promise, least=epsilon)


def white_box(
    mechanism: Mechanism, n: int, survivors: int | None = None, subject: str = "", promise: Guarantee | None = None
) -> Iterator[Verdict]:
    """Audit the law of a block's noise: for n users planned, of whom `survivors` (default: all) take part.

    The promise (which speaks of as many survivors as the mechanism is sure of), the block's price, and what the
    mechanism says that an observer sees (`Mechanism.seen`).
    """
    s, subject = n if survivors is None else survivors, subject or mechanism.name
    where = f"white box, n = {n}" + (f", {s} left" if s < n else "")
    law = _law(mechanism, n, s)
    if law is None:
        return
    if promise is not None and math.isfinite(promise.epsilon) and s >= mechanism.sure(n):
        yield _held(law, promise.epsilon, promise.delta, subject, f"{where}: promise", promise=promise)
    try:
        spent = mechanism.price(n, s)
    except (ValueError, ArithmeticError, AssertionError) as error:
        yield Verdict(subject, f"{where}: price cannot be told ({error or type(error).__name__})", 0, math.inf)
        return
    if math.isfinite(spent.epsilon):
        yield _held(law, spent.epsilon, spent.delta, subject, f"{where}: price")
    said = mechanism.seen(n, s)
    if said is not None:
        x = np.linspace(0, 1.5 * mechanism.epsilon, 13)
        yield Verdict(subject, f"{where}: profile", 0.0, float((law(x) - said(x)).max()) - 1e-9, "δ above it")


def every_size(mechanism: Mechanism, subject: str, promise: Guarantee, sizes: Sequence[int]) -> Iterator[Verdict]:
    """Hold the promise against blocks of all these sizes, with as many survivors as the mechanism is sure of."""
    worst: tuple[float, int, Profile | None] = (-math.inf, 0, None)
    unknown = []
    for n in sizes:
        try:
            law = _law(mechanism, n, max(mechanism.sure(n), mechanism.smallest))
        except (ValueError, ArithmeticError, AssertionError) as error:
            yield Verdict(subject, f"white box, n = {n}: no plan ({error or type(error).__name__})", 0, math.inf)
            continue
        if law is None:
            unknown.append(n)
            continue
        over = float(law(np.array([promise.epsilon * (1 + 1e-9)]))[0]) - promise.delta * (1 + 1e-6)
        worst = max(worst, (over, n, law), key=lambda found: found[:2])
    if unknown:
        check = f"white box, {len(unknown)} sizes up to n = {max(unknown):,}: promise"
        why = "the law of its noise is not known, or too wide to look at"
        yield Verdict(subject, check, 0, 0, promise=promise, untested=why)
    _, at, law = worst
    if law is not None:
        known = len(sizes) - len(unknown)
        check = f"white box, {known} sizes from {min(sizes)} to {max(sizes):,} (worst: n = {at:,}): promise"
        yield _held(law, promise.epsilon, promise.delta, subject, check, promise=promise)


# -- compositions -------------------------------------------------------------------------------------------------


def composed_delta(pairs: Sequence[tuple[Array, Array]], epsilon: float, step: float = 2e-4) -> float:
    """δ at ε of several views together, one pair of laws (in logarithms) each; never too large.

    Losses ``ln p/q`` are rounded down to a grid and their laws convolved, so that whoever promises less is refuted.

    Examples
    --------
    >>> flip = np.log([0.75, 0.25]), np.log([0.25, 0.75])
    >>> round(composed_delta([flip, flip], 0.0), 3)  # total variation of two coins
    0.5
    """
    worst = 0.0
    for direction in (1, -1):
        losses = []
        for p, q in pairs:
            one, other = (p, q) if direction == 1 else (q, p)
            losses.append((np.floor((one - other) / step).astype(np.int64), np.exp(one)))
        low = sum(int(at.min()) for at, _ in losses)
        size = fft.next_fast_len(sum(int(at.max() - at.min()) for at, _ in losses) + 1, True)
        power = np.ones(size // 2 + 1, complex)
        for at, weight in losses:
            power *= np.fft.rfft(np.bincount(at - at.min(), weights=weight, minlength=size), size)
        total = np.maximum(np.fft.irfft(power, size), 0.0)
        x = (low + np.arange(size)) * step
        worst = max(worst, float((total * np.maximum(-np.expm1(np.minimum(epsilon - x, 0.0)), 0.0)).sum()))
    return worst


def compositions(
    mechanism: Mechanism, subject: str, mixtures: Sequence[Sequence[tuple[int, int]]]
) -> Iterator[Verdict]:
    """Hold `Ledger.returning`, per δ, against users who took part in all blocks (planned, survivors) of a mixture."""
    for mixture in mixtures:
        books: Ledger = mechanism.ledger
        book = Ledger(
            books.mechanism, books.adjacency, books.view, books.assumptions, mechanism.price, books.details, 1
        )
        try:
            for n, s in mixture:
                book.use(0, 0, n, s)
            pairs = [log_pair(mechanism, n, s) for n, s in mixture]
        except (ValueError, ArithmeticError, AssertionError, NotImplementedError):
            continue  # a price that cannot be told has failed by itself; a law without moments or noise has no pair
        kinds = ", ".join(f"{s} of {n}" for n, s in dict.fromkeys(mixture))
        for delta in (1e-6, 1e-3):
            epsilon, at = book.returning(0, len(mixture), delta)
            if math.isinf(epsilon) or at >= 1:
                continue
            found = composed_delta(pairs, epsilon, max(2e-4, epsilon / 20_000))
            check = f"ledger, {len(mixture)} blocks ({kinds}), ε = {epsilon:.4g}"
            yield Verdict(subject, check, at, max(found - 1e-9, 0.0), "δ")
        yield from _worst(mechanism, book, mixture, subject, kinds)


def _worst(
    mechanism: Mechanism, book: Ledger, mixture: Sequence[tuple[int, int]], subject: str, kinds: str
) -> Iterator[Verdict]:
    epsilon, delta = float(book.worst[0]), float(book.worst_delta[0])
    laws = [_law(mechanism, n, s) for n, s in dict.fromkeys(mixture)]
    if math.isfinite(epsilon) and all(laws):
        law = worst_profile([law for law in laws if law is not None])
        yield _held(law, epsilon, delta, subject, f"ledger, any one block ({kinds})")
