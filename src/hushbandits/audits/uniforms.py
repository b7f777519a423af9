"""Is noise what it should be, and new each time?  Every test is of uniforms, which noise is by its own law.

Each statistic comes with a bound on its probability that holds for every number of draws; a check takes the least
likely of its statistics, times their number.  So an honest mechanism fails a check with probability at most its level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special, stats

from hushbandits.audits.laws import OnGrid, PlannedLaw
from hushbandits.audits.verdict import Verdict
from hushbandits.core.ground.types import Array
from hushbandits.core.guarantee import Guarantee
from hushbandits.privacy.audit import critical_distance, distance_from_uniform

__all__ = ["MODULI", "Draws", "against_law", "factor"]

_Make = Callable[..., Verdict]
_MANY, _SHORT = 100, 32  # runs and blocks, from where on places of a run are looked at one by one
_SEEN = 14.0  # expected draws in a tail, from where on an empty one is unlikely
#: Numbers whose multiples are counted among the steps of a grid.
MODULI = (2, 3, 4, 5, 8, 10, 16)


@dataclass(frozen=True)
class Draws:
    """Draws of one kind of noise, of all blocks or rounds, runs and seats.

    Parameters
    ----------
    u : (B, R, A) array
        Uniforms, if the noise has its law; NaN where there was none to see.
    silent : (B, R, A) bool
        Where the noise looks as if nobody had added any.
    at_zero : (B, R, A) array
        Probability of that.
    code : (B, R, A) array, optional
        The noise in steps of its grid; ``None``: it has none.
    residues : dict
        Per modulus, the probability of each draw's code to be a multiple of it, ``(B, R, A)``.
    alike : float
        Distance of two uniforms within which honest draws hardly ever come; 0: it is a law with atoms.
    groups : dict
        Per name, labels of u's shape (or ``(B,)``): every group is looked at by itself.
    again : tuple of str
        Names of groups within which neighbours in time are compared.
    beside : (B, R, …) array, optional
        Other luck of the run, uniforms that the noise must not know: that of the rewards.
    """

    u: Array
    silent: Array
    at_zero: Array
    code: Array | None = None
    residues: dict[int, Array] = field(default_factory=dict)
    alike: float = 0.0
    groups: dict[str, Array] = field(default_factory=dict)
    again: tuple[str, ...] = ()
    beside: Array | None = None

    @classmethod
    def of(cls, parts: Iterable[tuple[Array, PlannedLaw]], noise: Array, luck: Array, **more: Any) -> Draws:
        """Noise as uniforms by the law of each part ``(where, law)``; what is in no part was not seen."""
        u, at_zero, code = np.full(noise.shape, np.nan), np.zeros(noise.shape), np.zeros(noise.shape)
        silent, residues, alike = np.zeros(noise.shape, bool), {m: np.zeros(noise.shape) for m in MODULI}, 0.0
        for at, law in parts:
            x = noise[at]
            u[at], silent[at], at_zero[at] = law.uniform(x, luck[at]), law.silent(x), law.at_zero
            alike = max(alike, law.alike)
            if isinstance(law, OnGrid):
                code[at] = np.nan_to_num(law.code(x))
                for m in MODULI:
                    residues[m][at] = law.multiples(m)
        return cls(u, silent, at_zero, None if alike else code, {} if alike else residues, alike, **more)

    def labels(self, name: str) -> Array:
        """Labels of a group, of u's shape."""
        labels = self.groups[name]
        return np.broadcast_to(labels.reshape(labels.shape + (1,) * (self.u.ndim - labels.ndim)), self.u.shape)


# -- single statistics: how unlikely, as −ln of a bound on the probability -----------------------------------------


def _kolmogorov(u: Array) -> float:
    return max(0.0, 2 * u.size * distance_from_uniform(u) ** 2 - math.log(2)) if u.size else 0.0


def _scale(u: Array) -> float:
    """Of ``Σ −ln(2 min(u, 1 − u))``, a Gamma(n) draw: sharpest for what is too narrow or too wide."""
    total = float(-np.log(2 * np.clip(np.minimum(u, 1 - u), 1e-300, 0.5)).sum())
    tails = stats.gamma.logcdf(total, u.size), stats.gamma.logsf(total, u.size)
    return max(0.0, -min(tails) - math.log(2)) if u.size else 0.0


def _tails(u: Array) -> tuple[float, str]:
    """Too few or too many draws beyond 2^−3, 2^−4, … on either side."""
    depths = np.arange(3, max(4, math.floor(math.log2(max(u.size, 1) / _SEEN)) + 1))
    best = 0.0, ""
    for side, x in (("low", u), ("high", 1 - u)):
        counts = [(x < 2.0**-k).sum() for k in depths]
        for k, count in zip(depths.tolist(), counts, strict=True):
            p = 2.0**-k
            fewer, more = stats.binom.logcdf(count, u.size, p), stats.binom.logsf(count - 1, u.size, p)
            for log_p, words in ((fewer, "few"), (more, "many")):
                best = max(best, (-log_p - math.log(4 * len(depths)), f"too {words} beyond {p:.2g} at the {side} end"))
    return best


def _share(hits: Array, mean: Array) -> float:
    """Of more events than n independent ones of these probabilities give: Hoeffding's ``n KL(share ‖ mean)``."""
    n, share, p = hits.size, float(hits.mean()), min(max(float(mean.mean()), 1e-300), 1.0)
    if share <= p:
        return 0.0
    return n * float(special.rel_entr(share, p) + special.rel_entr(1 - share, 1 - p))


def _repeats(u: Array, alike: float) -> float:
    """Pairs of draws within `alike`: of one pair Markov's bound, of two the second moment."""
    gaps = np.diff(np.sort(u, axis=None)) <= alike
    pairs, expected = int(gaps.sum()), u.size**2 * alike
    if not pairs:
        return 0.0
    return max(0.0, -math.log(expected if pairs == 1 else expected**2 + (2 * u.size * alike) ** 2 * u.size))


def _unlikely(turns: Sequence[Array], plain: Sequence[Array], n: Array) -> Array:
    """−ln of a bound on the probability of such sums of n products, the least likely of all.

    ``cos 2π(u′ ± u)`` of independent u are independent of one another, with ``E e^(λ cos) = I₀(λ) ≤ e^(λ²/4)``.  Given
    all before it, ``(2u − 1)x`` has ``E e^(λ·) ≤ e^(λ²x²/6)``; and Σx², of mean n/3, stays below `spent` but for e^−40.
    """
    n = np.maximum(n, 1.0)
    best = np.max([part**2 for s in turns for part in (s.real, s.imag)], axis=0) / n
    spent = np.minimum(n / 3 + np.sqrt(20.0 * n), n)
    return np.maximum(best, np.minimum(np.max([s**2 for s in plain], axis=0) * 1.5 / spent, 39.0))


def _forms(u: Array) -> list[Array]:
    """``e^(2πiu)``, its conjugate, ``2u − 1``, and ``2|2u − 1| − 1``; 0 where there is nothing."""
    there = ~np.isnan(u)
    turn = np.where(there, np.exp(2j * np.pi * np.nan_to_num(u)), 0)
    rank = np.where(there, 2 * np.nan_to_num(u) - 1, 0)
    return [turn, turn.conj(), rank, np.where(there, 2 * np.abs(rank) - 1, 0)]


def _correlated(draws: Draws) -> tuple[float, str]:
    """Of products of two draws, summed over all pairs at one distance in blocks, runs and seats; at all distances."""
    b, r, a = draws.u.shape
    shape = tuple(1 << (2 * n - 1).bit_length() if n > 1 else 1 for n in (b, r))
    forms = [np.fft.fft2(x, shape, axes=(0, 1)) for x in _forms(draws.u)]
    far = [np.fft.fftfreq(n, 1 / n).round().astype(int) for n in shape]
    n = np.maximum(b - np.abs(far[0]), 0)[:, None] * np.maximum(r - np.abs(far[1]), 0)
    here = far[0][:, None] == 0
    later = (far[0][:, None] > 0) | (here & (far[1] > 0))
    best, kinds = (0.0, ""), 12 * a * a * max(int((later & (n > 0)).sum()) + 1, 1)
    for i in range(a):
        for j in range(a):
            use = (n > 0) & (later | (here & (far[1] == 0) & (j > i)))
            if not use.any():
                continue
            turns = [np.fft.ifft2(f[..., i].conj() * forms[0][..., j]) for f in forms[:2]]
            plain = [np.fft.ifft2(f[..., i].conj() * f[..., j]).real for f in forms[2:]]
            found = np.where(use, _unlikely(turns, plain, n), 0.0)
            at = np.unravel_index(found.argmax(), found.shape)
            words = f"{far[0][at[0]]} later, {far[1][at[1]]} runs on, seats {i} and {j}"
            best = max(best, (float(found[at]) - math.log(kinds), words))
    return best


def _by_place(draws: Draws) -> tuple[float, str]:
    """Of products of two given places of a run, and of a place with the luck of the rewards: over many short runs."""
    b, r, a = draws.u.shape
    if r < _MANY or b > _SHORT:
        return 0.0, ""
    mine = draws.u.transpose(0, 2, 1).reshape(-1, r)
    others = mine if draws.beside is None else np.vstack([mine, draws.beside.transpose(0, 2, 1).reshape(-1, r)])
    left, right = _forms(mine), _forms(others)
    turns = [left[0] @ x.T for x in right[:2]]
    found = _unlikely(turns, [x @ y.T for x in left[2:] for y in right[2:]], np.array(r))
    found[np.arange(len(mine)), np.arange(len(mine))] = 0.0  # a place with itself
    at = np.unravel_index(found.argmax(), found.shape)
    place, seat = divmod(int(at[1]) % len(mine), a)
    kind = "the luck of the rewards of place" if at[1] >= len(mine) else "place"
    words = f"place {at[0] // a}, seat {at[0] % a} and {kind} {place}, seat {seat}"
    return float(found[at]) - math.log(2 * 8 * found.size), words


def _again(draws: Draws, name: str) -> float:
    """Of two draws of like blocks, one after the other."""
    labels, b = draws.labels(name), len(draws.u)
    order = np.argsort(labels[:, 0, 0], kind="stable")
    u, kind = draws.u[order], labels[order]
    both = np.where(kind[1:] == kind[:-1], 1.0, np.nan)
    best = 0.0
    for pair in (u[1:] - u[:-1], u[1:] + u[:-1]):
        x = np.exp(2j * np.pi * pair) * both
        x = x[~np.isnan(x)]
        if b > 1 and x.size:
            best = max(best, x.sum().real ** 2 / x.size, x.sum().imag ** 2 / x.size)
    return best - math.log(8)


# -- checks --------------------------------------------------------------------------------------------------------


def factor(n: int, level: float) -> float:
    """How many times too narrow Laplace noise must be so that n draws tell, with 90 % power.

    Examples
    --------
    >>> round(factor(32_000, 1e-6), 2), round(factor(10, 1e-6))
    (1.04, 12)
    """
    low = stats.gamma.ppf(level / 2, n) / n
    worst = stats.gamma.isf(0.1, n) / n  # a mean that is as large as that by chance
    return float(worst / low) if low > 0 and worst / low < 1e3 else math.inf


def _power(n: int, kinds: int, level: float) -> str:
    return f"noise missing in {min(2.6 * critical_distance(n, level / kinds), 1):.1%}"


def against_law(
    draws: Draws, level: float, subject: str, where: str, promise: Guarantee | None = None, coins: bool = False
) -> Iterator[Verdict]:
    """Check that draws have their law, all together and group by group, and that they are independent.

    Parameters
    ----------
    draws : Draws
    level : float
        Probability that honest noise fails, of each verdict.
    subject, where : str
    promise : Guarantee, optional
        What the law is for: noise that is c times too narrow is noise for cε.
    coins : bool
        Whether the noise is that of coins: none can be missing, but their chances may be others.
    """

    def verdict(check: str, evidence: float, power: str, least: float = math.nan) -> Verdict:
        measured = max(evidence, 0.0) / -math.log(level)
        return Verdict(subject, f"{where}: {check}", 1.0, measured, "× critical", power, level, promise, least=least)

    seen = ~np.isnan(draws.u)
    u = draws.u[seen]
    if not u.size:
        yield Verdict(subject, f"{where}: the noise's law", 1, 0, "× critical", untested="no noise was seen")
        return
    off = critical_distance(u.size, level / 2)
    times = factor(u.size, level / 2)
    power = f"chances {1.3 * off:.3f} off" if coins else f"a scale {times:.2f} times off, {_power(u.size, 2, level)}"
    law = max(_kolmogorov(u), 0.0 if coins else _scale(u)) - math.log(2)
    told = math.nan if coins or promise is None else promise.epsilon * times
    yield verdict("the noise's law", law, power, told)
    if not coins:
        found, words = _tails(u)
        reach = math.log(u.size / _SEEN / 4)
        yield verdict(
            f"its tails ({words})" if words else "its tails", found, f"tails that end before {reach:.1f} scales"
        )
        yield _missing(draws, seen, verdict)
        yield from _atoms(draws, seen, verdict)
    for name in draws.groups:
        yield _by(draws, seen, name, level, verdict, coins)
    found, words = _correlated(draws)
    near = math.sqrt((-math.log(level) + math.log(12 * u.size)) / u.size)
    views = [
        (found, words),
        _by_place(draws),
        *((_again(draws, name), f"the last of the same {name}") for name in draws.again),
    ]
    found, words = max(views)
    power = f"noise used again in {1.3 * near:.1%} of pairs at some distance"
    yield verdict(f"two views together (worst: {words})", found - math.log(len(views)), power)


def _missing(draws: Draws, seen: Array, verdict: _Make) -> Verdict:
    at_zero = draws.at_zero[seen]
    rare = at_zero <= np.median(at_zero)  # where noise that cancels by itself blurs the least
    hits, mean = draws.silent[seen][rare], at_zero[rare]
    p = max(float(mean.mean()), 1e-12)
    needed = 1.3 * math.sqrt(2 * 14 * p * (1 - p) / hits.size) + 20 / hits.size
    return verdict("blocks without noise", _share(hits, mean), f"noise missing in {needed:.2%}")


def _atoms(draws: Draws, seen: Array, verdict: _Make) -> Iterator[Verdict]:
    if draws.alike:
        words = "noise that takes one value three times"
        yield verdict("values that occur again", _repeats(draws.u[seen], draws.alike), words)
    elif draws.code is not None and draws.residues:
        found = []
        for m, mean in draws.residues.items():
            hits = (draws.code % m == 0)[seen]
            found.append((max(_share(hits, mean[seen]), _share(~hits, 1 - mean[seen])), m))
        worst, m = max(found)
        power = "a grid that is coarser than planned in 3 % of draws"
        yield verdict(f"multiples of a number (worst: {m})", worst - math.log(2 * len(found)), power)


def _by(draws: Draws, seen: Array, name: str, level: float, verdict: _Make, coins: bool) -> Verdict:
    labels = draws.labels(name)[seen]
    u, silent, at_zero = draws.u[seen], draws.silent[seen], draws.at_zero[seen]
    order = np.argsort(labels, kind="stable")
    kinds, starts = np.unique(labels[order], return_index=True)
    found = []
    for kind, part in zip(kinds, np.split(order, starts[1:]), strict=True):
        parts = [_kolmogorov(u[part])]
        if not coins:
            parts += [_scale(u[part]), _share(silent[part], at_zero[part])]
        found.append((max(parts), kind))
    worst, at = max(found, key=lambda pair: pair[0])
    least = int(np.diff(np.append(starts, len(order))).min())
    what = (
        f"chances {1.3 * critical_distance(least, level / len(kinds)):.3f} off"
        if coins
        else _power(least, 3 * len(kinds), level)
    )
    return verdict(f"its law by {name} (worst: {at})", worst - math.log(3 * len(kinds)), f"of {least} draws: {what}")
