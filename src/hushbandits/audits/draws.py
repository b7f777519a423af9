"""One test of all that is drawn, on blocks and on graphs: views of two rewards are told apart, and noise has its law.

Every draw has a canary: a reward that is one of two, by a fair bit.  So the same draws say what ε they refute, whatever
the law is, and whether noise is as planned: uniform by its own law, and new each time.  What refutes a promise is an ε
or a δ; another law than planned is only told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from hushbandits.audits.events import telling
from hushbandits.audits.laws import OnGrid, PlannedLaw
from hushbandits.audits.verdict import Verdict
from hushbandits.core.ground.types import Array
from hushbandits.core.guarantee import Guarantee
from hushbandits.privacy import uniforms
from hushbandits.privacy.audit import Event, best_event, critical_share, epsilon_lower_bound, smallest_refuted

__all__ = ["Draws"]

_Parts = list[tuple[Array, PlannedLaw]]
_FEW = 16  # labels of a group, up to which it is looked for events as well
_MANY, _SHORT = 100, 32  # runs and rows, from where on places of a run are looked at one by one
_MODULI = (2, 3, 4, 5, 8, 10, 16)  # whose multiples are counted among the steps of a grid
_CHOICE = 1e-3  # level by which an event is chosen: as if there were as many draws as those that test it
_ROUNDS = 12  # of a search for a scale
_NARROWEST = 1e4
_LEAST = 100  # draws of a part, from where on they say which law they fit
_DOUBT = 1000.0  # noise that fits no better than once in so many times is not of the kind that is tried


@dataclass
class Draws:
    """Draws of one kind of noise, of all blocks or rounds, runs and seats.

    Parameters
    ----------
    noise : (B, R, A) array
        Around the truth; NaN where nothing was seen.
    laws : callable
        ``laws(times)``: which draws have which law ``(where, law)``, of noise so many times narrower than planned;
        ``NotImplementedError`` where only the plan is known.
    luck : (B, R, A) array
        Uniforms of the audit's own: they spread an atom of a law.
    bits : (B, R, A) bool, optional
        Which of the two rewards each canary had; ``None``: there are none.
    sides : (B, R, A) array, optional
        Labels of rewards that the noise must not depend on; by default the bits.
    moved, full : (B, R, A) arrays
        How far the canary's reward has moved the truth, and how far the one of the two that is no 0 would.
    truth : (B, R, A) array, optional
        What the noise is around: where what is seen follows it by less than it moves, noise is as much less needed.
    groups : dict
        Per name, labels of noise's shape (or ``(B,)``): every group is looked at by itself.
    again : tuple of str
        Names of groups within which neighbours in time are compared.
    rewards : (B′, R, A′) array, optional
        Luck of the rewards, row by row of the run: later ones no noise can know.
    coins : bool
        Whether what is seen is tossed: then nothing can be missing.
    """

    noise: Array
    laws: Callable[[float], _Parts]
    luck: Array
    bits: Array | None = None
    sides: Array | None = None
    moved: Array | float = 0.0
    full: Array | float = 1.0
    truth: Array | None = None
    groups: dict[str, Array] = field(default_factory=dict)
    again: tuple[str, ...] = ()
    rewards: Array | None = None
    coins: bool = False

    def __post_init__(self) -> None:
        self.sides = self.bits if self.sides is None else self.sides
        self.there = ~np.isnan(self.noise)
        self.coarse = [name for name in self.groups if len(np.unique(self.labels(name)[self.there])) <= _FEW]
        self._parts = self.laws(1.0)
        self.u = self._uniform(self.noise)
        self.at_zero, self.silent = np.zeros(self.noise.shape), np.zeros(self.noise.shape, bool)
        for at, law in self._parts:
            self.at_zero[at], self.silent[at] = law.at_zero, law.silent(self.noise[at])
        self.alike = max((law.alike for _, law in self._parts), default=0.0)
        shape = () if self.alike or self.coins else (len(_MODULI), *self.noise.shape)
        self._multiple, self._rate = np.zeros(shape, bool), np.zeros(shape)
        for at, law in self._parts if shape else ():
            assert isinstance(law, OnGrid)
            steps = law.steps(self.noise[at])
            for k, m in enumerate(_MODULI):
                self._multiple[k][at], self._rate[k][at] = steps % m == 0, law.multiples(m)

    def _uniform(self, noise: Array, parts: _Parts | None = None) -> Array:
        u = np.full(noise.shape, np.nan)
        for at, law in self._parts if parts is None else parts:
            u[at] = law.uniform(noise[at], self.luck[at])
        return u

    def labels(self, name: str) -> Array:
        """Labels of a group, of noise's shape."""
        labels = self.groups[name]
        return np.broadcast_to(labels.reshape(labels.shape + (1,) * (3 - labels.ndim)), self.noise.shape)

    def verdicts(
        self, level: float, subject: str, where: str, promise: Guarantee, epsilon: float | None = None
    ) -> Iterator[Verdict]:
        """Hold the draws against a promise (of another ε, where one is given), and against their law."""
        if not self.there.any():
            yield Verdict(subject, where, 1, 0, "× critical", untested="no noise was seen")
            return
        claimed, kinds = promise.epsilon if epsilon is None else epsilon, [("", self.there)]
        for name in self.groups:
            labels = self.labels(name)
            kinds += [(f"{name} {x:g}", self.there & (labels == x)) for x in np.unique(labels[self.there]).tolist()]
        pairs = list(self._pairs())
        odd = [(self._odd(part) - math.log(len(kinds)), words, part) for words, part in kinds]
        critical = -math.log(level)
        if self.bits is not None:
            yield self._events(level, subject, where, promise, claimed, kinds, pairs)
        if not self.coins:
            worst = sorted((x for x in odd if x[0] > critical and x[2].sum() >= _LEAST), key=lambda x: -x[0])[:8]
            tried = [(words, part) for _, words, part in worst] or kinds[:1]
            if self.sides is not None:
                yield self._missing(level / len(kinds), subject, where, promise, tried)
            yield self._scale(level / len(kinds), subject, where, promise, claimed, tried)
        if self.rewards is not None and self._by_place:
            yield self._later(level, subject, where, promise)
        evidence, words = max(
            (max(x, 0.0), words) for x, words in [(x, f"by {words}" if words else "in all") for x, words, _ in odd]
            + [(x, words) for x, _, words, _ in pairs]
        )  # fmt: skip
        measured = max(evidence - math.log(2), 0.0) / critical
        check = f"{where}: another law than planned (closest: {words})"
        yield Verdict(subject, check, 1.0, measured, "× critical", "any law", level, promise, other=True)

    # -- the law of a part ----------------------------------------------------------------------------------------

    def _odd(self, part: Array) -> float:
        """How unlikely noise of this part is by its law."""
        u = self.u[part]
        found = [uniforms.distance(u)]
        if not self.coins:
            found += [uniforms.scale(u), uniforms.tails(u), uniforms.share(self.silent[part], self.at_zero[part])]
            found.append(self._atoms(u, part))
        return max(found) - math.log(len(found))

    def _atoms(self, u: Array, part: Array, zeros: bool = True) -> float:
        """Of values that occur again, or of multiples of a number; of all draws, or of those that are not 0."""
        if self.alike:
            return uniforms.repeats(u, self.alike)
        best, zero = 0.0, 0.0 if zeros else self.at_zero[part]
        for hits, rate in zip(self._multiple, self._rate, strict=True):
            mean = (rate[part] - zero) / np.maximum(1 - zero, 1e-300)
            best = max(best, uniforms.share(hits[part], mean), uniforms.share(~hits[part], 1 - mean))
        return best - math.log(2 * len(_MODULI))

    # -- which ε they refute ----------------------------------------------------------------------------------------

    def _fit(self, u: Array, part: Array, moving: bool = False) -> bool:
        """Whether uniforms have their law, each coarse group and each side by itself: by no more than chance has it."""
        groups = [part]
        for labels in [self.labels(name) for name in self.coarse] + ([] if self.sides is None else [self.sides]):
            groups += [part & (labels == x) for x in np.unique(labels[part]).tolist()]
        worst = max((uniforms.distance(u[group]) for group in groups), default=0.0)
        if moving or self.alike:
            worst = max(worst, self._atoms(u[part], part, False))
        return worst < math.log(_DOUBT * len(groups))

    def _missing(
        self, level: float, subject: str, where: str, promise: Guarantee, kinds: list[tuple[str, Array]]
    ) -> Verdict:
        """The share of draws without noise, whichever reward a canary had, where all others are as planned."""
        assert self.sides is not None
        u, worst, words = self.u.copy(), 0.0, ""
        for at, law in self._parts:
            u[at] = law.moving(u[at])
        for name, part in kinds:
            sides = [part & (self.sides == x) for x in np.unique(self.sides[self.there]).tolist()]
            if not all(side.any() for side in sides):
                continue
            found = _more(self.silent[part], self.at_zero[part], level)
            even = min(float(self.silent[side].mean() - self.at_zero[side].mean()) for side in sides) > found / 4
            if found > worst and even and self._fit(u, part & ~self.silent, True):
                worst, words = found, name
        n = int(kinds[0][1].sum())
        needed = 1.3 * math.sqrt(2 * 14 * (p := float(self.at_zero[kinds[0][1]].mean())) * (1 - p) / n) + 20 / n
        check = f"{where}: noise that is missing{f' ({words})' if words else ''}"
        return Verdict(subject, check, promise.delta, worst, "δ", f"noise missing in {needed:.2%}", level, promise)

    def _scale(
        self, level: float, subject: str, where: str, promise: Guarantee, epsilon: float,
        kinds: list[tuple[str, Array]],
    ) -> Verdict:  # fmt: skip
        """The ε of noise of the planned kind that is narrower than planned: what is c times narrower is for cε."""
        worst, words = 0.0, ""
        for name, part in kinds:
            times, least = uniforms.scale_between(self.u[part], level)
            try:
                least = self._fitted(part, times, level) if times > 1.0 else least
            except NotImplementedError:
                continue
            least *= self._slope(part)
            if least * epsilon > worst:
                worst, words = least * epsilon, name
        off = uniforms.factor(int(kinds[0][1].sum()), level)
        check = f"{where}: noise that is too narrow{f' ({words})' if words else ''}"
        power = f"a scale {off:.2f} times too small"
        return Verdict(subject, check, epsilon, worst, "ε", power, level, promise, least=promise.epsilon * off)

    def _slope(self, part: Array) -> float:
        """How far what is seen follows the truth at least, three standard errors below; at most 1."""
        if self.truth is None or not self.alike:  # on a grid nothing else has the planned steps
            return 1.0
        x, noise = self.truth[part], self.noise[part]
        spread = float(x.std())
        if not spread:
            return 0.0
        slope = 1 + float(((x - x.mean()) * (noise - noise.mean())).mean()) / spread**2
        return min(max(slope - 3 * float(noise.std()) / spread / math.sqrt(x.size), 0.0), 1.0)

    def _fitted(self, part: Array, times: float, level: float) -> float:
        """How many times narrower it is at least; 0 where no scale makes the draws fit."""
        low, high = 1.0, min(2 * times, _NARROWEST)
        noise, u = np.where(part, self.noise, np.nan), self.u
        for _ in range(_ROUNDS):
            middle = math.sqrt(low * high)
            u = self._uniform(noise, self._narrow(part, middle))
            low, high = (middle, high) if uniforms.scale_between(u[part], 0.5)[0] > 1 else (low, middle)
        return high * uniforms.scale_between(u[part], level)[1] if self._fit(u, part) else 0.0

    def _narrow(self, part: Array, times: float) -> _Parts:
        return [(at & part, law) for at, law in self.laws(times) if (at & part).any()]

    def _events(
        self, level: float, subject: str, where: str, promise: Guarantee, epsilon: float,
        kinds: list[tuple[str, Array]], pairs: list[tuple[float, float, str, tuple[Array, Array]]],
    ) -> Verdict:  # fmt: skip
        """The ε that an event refutes, of one draw or of two; a third of the runs chooses it, the others test it."""
        assert self.bits is not None
        runs = self.noise.shape[1]
        learning = np.broadcast_to((np.arange(runs) < max(runs // 3, 1))[:, None], self.noise.shape)
        features = self._features(learning)
        chosen: tuple[Event, str, Array] | None = None
        for words, part in kinds:
            if words and words.rpartition(" ")[0] not in self.coarse:
                continue
            event = _best(self._sides(features, part & learning), promise.delta, _CHOICE)
            if event and (chosen is None or event.promised > chosen[0].promised):
                chosen = event, words, part
        found, told = 0.0, ""
        if chosen is not None:
            event, words, part = chosen
            found = event.refuted(*self._sides(features, part & ~learning), promise.delta, level / 2)
            told = f"{[*features][event.feature]} {event.kind} {event.value:.4g}{f', {words}' if words else ''}"
        for _, number, words, (mine, other) in pairs:
            both = self._together(mine, other)
            part = ~np.isnan(both["sides"])
            event = _best(self._sides(both, part & learning), promise.delta, _CHOICE)
            if event is not None:
                share = level / 2 / len(pairs) / number
                more = event.refuted(*self._sides(both, part & ~learning), promise.delta, share)
                found, told = max((found, told), (more, f"{[*both][event.feature]}, {words}"))
        n = int(min((self.there & ~learning & (self.bits == bit)).sum() for bit in (False, True)))
        least = smallest_refuted(epsilon, promise.delta, max(n, 1), level / 2)
        power = f"a true ε of {least:.3g}; {_cut(epsilon, promise.delta, n, level / 2)}"
        check = f"{where}: what two rewards tell ({told or 'nothing'})"
        return Verdict(subject, check, epsilon, found, "ε", power, level, promise, least=least)

    def _sides(self, features: dict[str, Array], part: Array) -> tuple[Array, Array]:
        assert self.bits is not None
        known = np.array([x[part] for x in features.values()])
        known = np.where(np.isnan(known), -1.0, known)
        bits = self.bits[part]
        return known[:, ~bits], known[:, bits]

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
            for at, law in self._parts:
                steps = np.round(np.broadcast_to(self.full, seen.shape)[at] * law.per)
                x[at] = np.where(steps % m != 0, law.steps(seen[at]) % m == 0, np.nan)  # type: ignore[union-attr]
            found[f"multiple of {m}"] = x
        return {k: x for k, x in found.items() if telling({k: x[self.there]})}

    # -- two draws -----------------------------------------------------------------------------------------------

    @property
    def _by_place(self) -> bool:
        return self.u.shape[1] >= _MANY and len(self.u) <= _SHORT

    def _pairs(self) -> Iterator[tuple[float, float, str, tuple[Array, Array]]]:
        """Two draws that may be one: how unlikely, of how many pairs, in words, and the places of both."""
        b, r, a = self.u.shape
        at = np.indices(self.u.shape)
        evidence, (later, on, i, j) = uniforms.at_any_distance(self.u)
        other = np.array([at[0] + later, at[1] + on, at[2] if i == j else np.full(self.u.shape, j)])
        mine = ((at[2] == i) | (i == j)) & (other[0] >= 0) & (other[0] < b) & (other[1] >= 0) & (other[1] < r)
        if evidence > 0:
            yield evidence, 2.0 * b * r * a * a, f"{later} later, {on} runs on, seats {i} and {j}", (mine, other)
        if self._by_place:
            places = self.u.transpose(0, 2, 1).reshape(-1, r)
            evidence, (one, two) = uniforms.at_places(places, places, np.triu(np.ones((b * a, b * a), bool), 1))
            other = np.array([np.full(self.u.shape, two // a), at[1], np.full(self.u.shape, two % a)])
            mine = (at[0] == one // a) & (at[2] == one % a)
            words = f"places {one // a} and {two // a}, seats {one % a} and {two % a}"
            if evidence > 0:
                yield evidence, (b * a) ** 2 / 2, words, (mine, other)
        for name in self.again:
            labels = self.labels(name)[:, 0, 0]
            order = np.argsort(labels, kind="stable")
            follows = np.flatnonzero(labels[order][1:] == labels[order][:-1])
            after = np.zeros(b, int)
            after[order[follows]] = order[follows + 1]
            mine = np.broadcast_to(np.isin(np.arange(b), order[follows])[:, None, None], self.u.shape)
            other = np.array([np.broadcast_to(after[:, None, None], self.u.shape), at[1], at[2]])
            both = np.array([self.u[mine], self.u[tuple(other)][mine]])
            yield _alike(both[:, ~np.isnan(both.sum(0))]), 1.0, f"the next of the same {name}", (mine, other)

    def _together(self, mine: Array, other: Array) -> dict[str, Array]:
        """What an observer sees of two draws, of which the second one's reward is known."""
        where = tuple(np.where(mine, other, 0))
        if self.coins:
            assert self.bits is not None
            both = 4 * self.noise + 2 * self.noise[where] + self.bits[where]
            return {"sides": np.where(mine, both, np.nan)}
        one, two = (np.where(mine, x, np.nan) for x in (self._uniform(self.noise + self.moved), self.u[where]))
        found = {
            f"circle {words}": np.abs((x + 0.5) % 1 - 0.5) for words, x in (("less", one - two), ("and", one + two))
        }
        seen = np.where(mine, np.abs(np.round(self.noise + self.moved - self.noise[where], 9)), np.nan)
        sides = 2.0 * (one > 0.5) + (two > 0.5)
        return {
            **found,
            "less": seen,
            "sides": np.where(np.isnan(one + two), np.nan, sides),
            "size": np.abs(one - 0.5) - np.abs(two - 0.5),
        }

    def _later(self, level: float, subject: str, where: str, promise: Guarantee) -> Verdict:
        """Noise that knows rewards yet to come is made of what they are made of."""
        assert self.rewards is not None
        (b, r, a), (c, _, d) = self.u.shape, self.rewards.shape
        mine, theirs = (x.transpose(0, 2, 1).reshape(-1, r) for x in (self.u, self.rewards))
        pairs = np.repeat(np.arange(b), a)[:, None] < np.repeat(np.arange(c), d)
        evidence, (one, two) = uniforms.at_places(mine, theirs, pairs)
        check = f"{where}: noise that knows a later reward (place {one // a} and {two // d})"
        measured = max(evidence, 0.0) / -math.log(level)
        return Verdict(subject, check, 1.0, measured, "× critical", "a later reward's luck", level, promise)


def _best(sides: tuple[Array, Array], delta: float, level: float) -> Event | None:
    return best_event(*sides, delta, level) if min(side.shape[1] for side in sides) else None


def _alike(both: Array) -> float:
    """Of two draws of like rows, one after the other."""
    if not both.size:
        return 0.0
    turns = [np.exp(2j * np.pi * x) for x in (both[1] - both[0], both[1] + both[0])]
    best = max(part.sum() ** 2 / part.size for x in turns for part in (x.real, x.imag))
    return float(best) - math.log(8)


def _more(hits: Array, mean: Array, level: float) -> float:
    """How much more often than `mean` something happens, at this level, as a share of what is left."""
    p = float(mean.mean())
    if uniforms.share(hits, mean) < -math.log(level):
        return 0.0
    low, high = p, float(hits.mean())
    for _ in range(30):  # the largest probability that is refuted
        middle = (low + high) / 2
        refuted = critical_share(max(middle, 1e-12), hits.size, level) < hits.mean()
        low, high = (middle, high) if refuted else (low, middle)
    return (low - p) / max(1 - p, 1e-300)


def _cut(epsilon: float, delta: float, n: int, level: float) -> str:
    """Which tails are seen to be cut off: those that a neighbour's noise often exceeds."""
    for hits in np.unique(np.geomspace(10, max(n, 11), 60).astype(int)).tolist():
        if epsilon_lower_bound(hits, 0, max(n, hits), delta, level) > epsilon:
            p = (hits + 1.3 * math.sqrt(hits)) / n * math.exp(-epsilon)
            return f"tails cut off where {p:.2g} of the law is left"
    return "no cut tail"
