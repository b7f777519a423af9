"""One test of all that is drawn, on blocks and on graphs: views of two rewards are told apart, and noise has its law.

Every draw has a canary: a reward that is one of two, by a fair bit.  So the same draws say what ε they refute, whatever
the law is, and whether noise is as planned: uniform by its own law, and new each time.  What refutes a promise is an ε
or a δ; another law than planned is only told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import numpy as np
from scipy import stats

from hushbandits.audits import uniforms
from hushbandits.audits.cases import Case, Verdict
from hushbandits.audits.events import refuted, telling
from hushbandits.core import Array
from hushbandits.privacy.audit import epsilon_lower_bound, smallest_refuted

_FEW = 16  # labels of a group, up to which it is looked for events as well
_MODULI = (2, 3, 4, 5, 8, 10, 16)  # whose multiples are counted among the steps of a grid
_ROUNDS, _NARROWEST = 12, 1e4  # of a search for a scale, and how far it goes
_LEAST = 100  # draws of a part, from where on they say which law they fit
_DOUBT = 1000.0  # noise that fits no better than once in so many times is not of the kind that is tried


@dataclass
class Draws:
    """Draws of one kind of noise, of all blocks or rounds, runs and seats, and the promise that they are held against.

    Parameters
    ----------
    case : Case
    where : str
        Of which run.
    noise : (B, R, A) array
        Around the truth; NaN where nothing was seen.
    parts : list of (mask, callable)
        Which draws have which law: ``law(times)``, of noise so many times narrower than planned; ``None`` where it has
        no scale.
    rng : Generator
        Luck of the audit's own: it spreads an atom of a law.
    bits : (B, R, A) bool
        Which of the two rewards each canary had.
    truth : (B, R, A) array
        What the noise is around: where what is seen follows it by less than it moves, noise is as much less needed.
    epsilon : float, optional
        Of the promise, where it is another one for these draws.
    sides : (B, R, A) array, optional
        Labels of rewards that the noise must not depend on; by default the bits.
    moved, full : (B, R, A) arrays
        How far the canary's reward has moved the truth, and how far the one of the two that is no 0 would.
    groups : dict
        Per name, labels of noise's shape (or ``(B,)``): every group is looked at by itself.
    rewards : (B′, R, A′) array, optional
        Luck of the rewards, row by row of the run: later ones no noise can know.
    coins : bool
        Whether what is seen is tossed: then nothing can be missing.
    """

    case: Case
    where: str
    noise: Array
    parts: Sequence[tuple[Array, Callable[[float], Any]]]
    rng: np.random.Generator
    bits: Array
    truth: Array
    epsilon: float | None = None
    sides: Array | None = None
    moved: Array | float = 0.0
    full: Array | float = 1.0
    groups: dict[str, Array] = field(default_factory=dict)
    rewards: Array | None = None
    coins: bool = False

    def __post_init__(self) -> None:
        shape = self.noise.shape
        self.promise, self.luck, self.level = self.case.promise, self.rng.random(shape), self.case.budget.level
        self.cost = self.epsilon or self.promise.epsilon
        sides = self.bits if self.sides is None else self.sides
        self.beside = [sides == x for x in np.unique(sides[~np.isnan(self.noise)]).tolist()]
        self.there = ~np.isnan(self.noise)
        labels = {k: np.broadcast_to(x.reshape(x.shape + (1,) * (3 - x.ndim)), shape) for k, x in self.groups.items()}
        parts = {
            k: [(f"{k} {v:g}", self.there & (x == v)) for v in np.unique(x[self.there])] for k, x in labels.items()
        }
        #: Every group, in words; and those of few labels, in which events are looked for.
        self.kinds = [("", self.there), *chain(*parts.values())]
        self.coarse = list(chain(*(groups for groups in parts.values() if len(groups) <= _FEW)))
        self.parts = [(at, lru_cache(law)) for at, law in self.parts]
        laws = [(at, law(1.0)) for at, law in self.parts]
        self.u = self._uniform(self.noise)
        self.at_zero, self.silent = np.zeros(shape), np.zeros(shape, bool)
        for at, law in laws:
            self.at_zero[at], self.silent[at] = law.at_zero, law.silent(self.noise[at])
        self.alike = max((law.alike for _, law in laws), default=0.0)
        self._multiples = []
        for m in () if self.alike else _MODULI:
            hits, rate = np.zeros(shape, bool), np.zeros(shape)
            for at, law in laws:
                hits[at], rate[at] = law.steps(self.noise[at]) % m == 0, law.multiples(m)
            self._multiples.append((hits, rate))
        self._say = partial(Verdict, self.case.subject, promise=self.promise, level=self.level)

    def _uniform(self, noise: Array, part: Array | bool = True, times: float = 1.0) -> Array:
        u = np.full(noise.shape, np.nan)
        for at, law in self.parts:
            here = at & part
            u[here] = law(times).uniform(noise[here], self.luck[here])
        return u

    def verdicts(self) -> Iterator[Verdict]:
        """Hold the draws against the promise, and against their law."""
        if not self.there.any():
            yield self._say(self.where, 1, 0, "× critical", untested="no noise was seen whose law is known")
            return
        pair = self._pair()
        odd = [(self._odd(part) - math.log(len(self.kinds)), words, part) for words, part in self.kinds]
        critical = -math.log(self.level)
        if self.bits.any():
            yield self._events(pair)
        if not self.coins:
            worst = sorted((x for x in odd if x[0] > critical and x[2].sum() >= _LEAST), key=lambda x: -x[0])[:8]
            tried = [(words, part) for _, words, part in worst] or self.kinds[:1]
            yield self._missing(tried)
            yield self._scale(tried)
        if self.rewards is not None:
            yield self._later()
        evidence, words = max((max(x, 0.0), words) for x, words, _ in (*odd, pair))
        measured = max(evidence - math.log(2), 0.0) / critical
        check = f"{self.where}: another law than planned (closest: {f'by {words}' if words else 'in all'})"
        yield self._say(check, 1.0, measured, "× critical", "any law", other=True)

    # -- the law of a part ----------------------------------------------------------------------------------------

    def _odd(self, part: Array) -> float:
        """How unlikely noise of this part is by its law."""
        u = self.u[part]
        if self.coins:
            return uniforms.distance(u)
        found = [uniforms.distance(u), uniforms.scale(u), uniforms.tails(u), self._atoms(u, part)]
        return max(*found, uniforms.share(self.silent[part], self.at_zero[part])) - math.log(5)

    def _atoms(self, u: Array, part: Array, zeros: bool = True) -> float:
        """Of values that occur again, or of multiples of a number; of all draws, or of those that are not 0."""
        if self.alike:
            return uniforms.repeats(u, self.alike)
        best, zero = 0.0, 0.0 if zeros else self.at_zero[part]
        for hits, rate in self._multiples:
            mean = (rate[part] - zero) / np.maximum(1 - zero, 1e-300)
            best = max(best, uniforms.share(hits[part], mean), uniforms.share(~hits[part], 1 - mean))
        return best - math.log(2 * len(_MODULI))

    # -- which ε they refute ----------------------------------------------------------------------------------------

    def _fit(self, u: Array, part: Array, moving: bool = False) -> bool:
        """Whether uniforms have their law, each coarse group and each side by itself: by no more than chance has it."""
        beside = [*(at for _, at in self.coarse), *self.beside]
        groups = [part, *(both for group in beside if (both := part & group).any())]
        worst = max(uniforms.distance(u[group]) for group in groups)
        if moving or self.alike:
            worst = max(worst, self._atoms(u[part], part, False))
        return worst < math.log(_DOUBT * len(groups))

    def _missing(self, kinds: list[tuple[str, Array]]) -> Verdict:
        """The share of draws without noise, whichever reward a canary had, where all others are as planned."""
        u, worst, words = self.u.copy(), 0.0, ""
        for at, law in self.parts:
            u[at] = law(1.0).moving(u[at])
        for name, part in kinds:
            sides = [part & side for side in self.beside]
            if not all(side.any() for side in sides):
                continue
            found = _more(self.silent[part], self.at_zero[part], self.level / len(self.kinds))
            even = min(float(self.silent[side].mean() - self.at_zero[side].mean()) for side in sides) > found / 4
            if found > worst and even and self._fit(u, part & ~self.silent, True):
                worst, words = found, f" ({name})" if name else ""
        n, p = int(kinds[0][1].sum()), float(self.at_zero[kinds[0][1]].mean())
        power = f"noise missing in {1.3 * math.sqrt(2 * 14 * p * (1 - p) / n) + 20 / n:.2%}"
        return self._say(f"{self.where}: noise that is missing{words}", self.promise.delta, worst, "δ", power)

    def _scale(self, kinds: list[tuple[str, Array]]) -> Verdict:
        """The ε of noise of the planned kind that is narrower than planned: what is c times narrower is for cε."""
        worst, words, level = 0.0, "", self.level / len(self.kinds)
        for name, part in kinds:
            times, least = uniforms.scale_between(self.u[part], level)
            least = self._slope(part) * (self._fitted(part, times, level) if times > 1.0 else least)
            if least * self.cost > worst:
                worst, words = least * self.cost, f" ({name})" if name else ""
        off = uniforms.factor(int(kinds[0][1].sum()), level)
        check, power = f"{self.where}: noise that is too narrow{words}", f"a scale {off:.2f} times too small"
        return self._say(check, self.cost, worst, "ε", power, least=self.cost * off)

    def _slope(self, part: Array) -> float:
        """How far what is seen follows the truth at least, three standard errors below; at most 1."""
        if not self.alike:  # on a grid nothing else has the planned steps
            return 1.0
        x = self.truth[part]
        line = stats.linregress(x, self.noise[part]) if np.ptp(x) else None
        return min(max(1 + line.slope - 3 * line.stderr, 0.0), 1.0) if line else 0.0

    def _fitted(self, part: Array, times: float, level: float) -> float:
        """How many times narrower it is at least; 0 where it has no scale, or none makes the draws fit."""
        if any(law(times) is None for at, law in self.parts if (at & part).any()):
            return 0.0
        low, high, u = 1.0, min(2 * times, _NARROWEST), self.u
        for _ in range(_ROUNDS):
            middle = math.sqrt(low * high)
            u = self._uniform(self.noise, part, middle)
            low, high = (middle, high) if uniforms.scale_between(u[part], 0.5)[0] > 1 else (low, middle)
        return high * uniforms.scale_between(u[part], level)[1] if self._fit(u, part) else 0.0

    def _events(self, pair: tuple[float, str, Array]) -> Verdict:
        """The ε that an event refutes, of one draw or of two; a third of the runs chooses it, the others test it."""
        delta, level, runs = self.promise.delta, self.level / 2, self.noise.shape[1]
        learning = np.broadcast_to((np.arange(runs) < max(runs // 3, 1))[:, None], self.noise.shape)
        parts = [("", self.there), *((f", {words}", part) for words, part in self.coarse)]
        found = refuted(self._features(learning), self.bits, learning, delta, level, parts)
        evidence, words, other = pair
        if evidence > 0:
            both = self._together(other)
            level_of_pair = level * math.exp(-self._tried)
            parts = [(f", {words}", ~np.isnan(both["sides"]))]
            found = max(found, refuted(both, self.bits, learning, delta, level_of_pair, parts))
        n = int(min((self.there & ~learning & (self.bits == bit)).sum() for bit in (False, True)))
        least = smallest_refuted(self.cost, delta, max(n, 1), level)
        power = f"a true ε of {least:.3g}; {_cut(self.cost, delta, n, level)}"
        check = f"{self.where}: what two rewards tell ({found[1] or 'nothing'})"
        return self._say(check, self.cost, found[0], "ε", power, least=least)

    def _features(self, learning: Array) -> dict[str, Array]:
        """What an observer sees of a draw who knows all other rewards."""
        seen = self.noise + self.moved
        found = {"by its law": self._uniform(seen), "as it is": seen}
        if self.alike:
            for k in (1, 10, 100):
                found[f"digits after {1 / k:g}"] = np.round(seen * k, 9) % 1
            for bit in (False, True):
                values, counts = np.unique(np.round(seen[learning & (self.bits == bit)], 12), return_counts=True)
                found[f"value seen before of reward {int(bit)}"] = np.isin(np.round(seen, 12), values[counts > 1]) * 1.0
        for m in () if self.alike or self.coins else _MODULI:
            x = np.full(seen.shape, np.nan)
            for at, law in self.parts:
                steps = np.round(np.broadcast_to(self.full, seen.shape)[at] * law(1.0).per)
                x[at] = np.where(steps % m != 0, law(1.0).steps(seen[at]) % m == 0, np.nan)
            found[f"multiple of {m}"] = x
        return {k: np.where(np.isnan(x), -1.0, x) for k, x in found.items() if telling({k: x[self.there]})}

    # -- two draws -----------------------------------------------------------------------------------------------

    def _pair(self) -> tuple[float, str, Array]:
        """Two draws that may be one: how unlikely, in words, and where the other one is, NaN where there is none."""
        b, r, a = self.u.shape
        evidence, (later, on, i, j) = uniforms.at_any_distance(self.u)
        self._tried = math.log(2.0 * b * r * a * a)
        at = np.indices(self.u.shape)
        other = np.array([at[0] + later, at[1] + on, at[2] if i == j else np.full(self.u.shape, j)])
        mine = ((at[2] == i) | (i == j)) & (other[0] >= 0) & (other[0] < b) & (other[1] >= 0) & (other[1] < r)
        return evidence, f"{later} later, {on} runs on, seats {i} and {j}", np.where(mine, other, -1)

    def _together(self, other: Array) -> dict[str, Array]:
        """What an observer sees of two draws, of which the second one's reward is known."""
        mine, where = other[0] >= 0, tuple(np.maximum(other, 0))
        if self.coins:
            both = 4 * self.noise + 2 * self.noise[where] + self.bits[where]
            return {"sides": np.where(mine, both, np.nan)}
        seen = self.noise + self.moved
        one, two = (np.where(mine, x, np.nan) for x in (self._uniform(seen), self.u[where]))
        return {
            "circle less": np.abs((one - two + 0.5) % 1 - 0.5),
            "circle and": np.abs((one + two + 0.5) % 1 - 0.5),
            "less": np.where(mine, np.abs(np.round(seen - self.noise[where], 9)), np.nan),
            "sides": np.where(np.isnan(one + two), np.nan, 2.0 * (one > 0.5) + (two > 0.5)),
        }

    def _later(self) -> Verdict:
        """Noise that knows rewards yet to come is made of what they are made of."""
        assert self.rewards is not None
        (b, r, a), (c, _, d) = self.u.shape, self.rewards.shape
        mine, theirs = (x.transpose(0, 2, 1).reshape(-1, r) for x in (self.u, self.rewards))
        pairs = np.repeat(np.arange(b), a)[:, None] < np.repeat(np.arange(c), d)
        evidence, (one, two) = uniforms.at_places(mine, theirs, pairs)
        check = f"{self.where}: noise that knows a later reward (place {one // a} and {two // d})"
        return self._say(check, 1.0, max(evidence, 0.0) / -math.log(self.level), "× critical", "a later reward's luck")


def _more(hits: Array, mean: Array, level: float) -> float:
    """How much more often than `mean` something happens, at this level, as a share of what is left.

    By Clopper & Pearson: where it happens more often than `mean`, events of one probability vary most (Hoeffding 1956).
    """
    p, n = float(mean.mean()), int(hits.sum())
    low = float(stats.beta.ppf(level, n, hits.size - n + 1)) if n else 0.0
    return max(low - p, 0.0) / max(1 - p, 1e-300)


def _cut(epsilon: float, delta: float, n: int, level: float) -> str:
    """Which tails are seen to be cut off: those that a neighbour's noise often exceeds."""
    for hits in np.unique(np.geomspace(10, max(n, 11), 60).astype(int)).tolist():
        if epsilon_lower_bound(hits, 0, max(n, hits), delta, level) > epsilon:
            p = (hits + 1.3 * math.sqrt(hits)) / n * math.exp(-epsilon)
            return f"tails cut off where {p:.2g} of the law is left"
    return "no cut tail"
