"""Statistical tests of drawn noise: a lower bound on ε from the draws, and the fit of the draws to the planned law.

Every draw has a canary: a reward that takes one of two values by a fair bit.  So the same draws show which ε they
refute, for any law, and whether the noise is as planned: uniform under its law, and independent between draws.  Only
an ε or a δ refutes a guarantee; another law than planned is reported.  Postprocessing of releases (rounding, clipping)
does not raise the rate of false alarms where there are canaries: a refutation counts correct guesses of their bits.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import numpy as np
from scipy import special, stats

from hushbandits.audits import uniforms
from hushbandits.audits.cases import Case, Verdict
from hushbandits.audits.events import refuted, telling
from hushbandits.core import Array
from hushbandits.privacy.audit import epsilon_lower_bound, one_run_bound, smallest_refuted

_FEW = 16  # number of labels in a group up to which events are searched too
_MODULI = (2, 3, 4, 5, 8, 10, 16)  # multiples of these are counted among the steps of a grid
_ROUNDS, _NARROWEST = 12, 1e4  # steps of the search for a scale, and its limit
_LEAST = 100  # minimum number of draws of a part for a statement on its law
_DOUBT = 1000.0  # a fit with p < 1/1000 rejects the kind of law tried


@dataclass
class Draws:
    """Draws of one mechanism's noise, indexed (block or round, run, server or agent), and the guarantee to test.

    Parameters
    ----------
    case : Case
    where : str
        Name of the run, for reports.
    noise : (B, R, A) array
        Noise around the true sum; NaN if nothing was observed.
    parts : list of (mask, callable)
        Parts of the draws with their law: ``law(times)``, for noise so many times narrower than planned; ``None`` if
        the law has no scale.
    rng : Generator
        Generator of the audit: it randomises the atoms of a law.
    bits : (B, R, A) bool
        Which of its two values each canary had.
    epsilon : float or (B, R, A) array, optional
        ε of the guarantee, if it differs for these draws.
    moved, full : (B, R, A) arrays
        Shift of the true sum by the canary's reward, and by the one of its two values that is not 0; 0: the canary's
        message is lost.
    groups : dict
        By name, labels with the shape of the noise (or ``(B,)``): every group is tested separately.
    rewards : (B′, R, A′) array, optional
        Uniforms behind the rewards, in the rows of the run: noise cannot depend on later ones.
    coins : bool
        Whether the release is a coin: then noise cannot be missing.
    """

    case: Case
    where: str
    noise: Array
    parts: Sequence[tuple[Array, Callable[[float], Any]]]
    rng: np.random.Generator
    bits: Array
    epsilon: Array | float | None = None
    moved: Array | float = 0.0
    full: Array = field(default_factory=partial(np.ones, 1))
    groups: dict[str, Array] = field(default_factory=dict)
    rewards: Array | None = None
    coins: bool = False

    def __post_init__(self) -> None:
        shape = self.noise.shape
        self.promise, self.uniforms, self.level = self.case.promise, self.rng.random(shape), self.case.budget.level
        self.costs = np.full(shape, self.promise.epsilon if self.epsilon is None else self.epsilon)
        self.cost = float(self.costs.max())
        self.there = ~np.isnan(self.noise)
        labels = {k: np.broadcast_to(x.reshape(x.shape + (1,) * (3 - x.ndim)), shape) for k, x in self.groups.items()}
        parts = [[(f"{k} {v:g}", self.there & (x == v)) for v in np.unique(x[self.there])] for k, x in labels.items()]
        #: Every group, in words; and those with few labels, in which events are searched.
        self.kinds = [("", self.there), *chain(*parts)]
        self.coarse = list(chain(*(groups for groups in parts if len(groups) <= _FEW)))
        self.parts = [(at, lru_cache(law)) for at, law in self.parts]
        laws = [(at, law(1.0)) for at, law in self.parts]
        self.u = self._uniform(self.noise)
        self.at_zero, self.known = np.zeros(shape), np.full(shape, 0.5)
        self.silent, self.mistaken = np.zeros((2, *shape), bool)
        self.full = np.broadcast_to(self.full, shape)
        for at, law in laws:
            self.at_zero[at], self.silent[at] = law.at_zero, law.silent(self.noise[at])
            self.mistaken[at] = law.silent((self.noise + 2 * self.moved - self.full)[at])
            self.known[at] = law.known(self.full[at])
        self.alike = max((law.alike for _, law in laws), default=0.0)
        if self.alike:  # Laplace noise may be wide beside the rewards that it hides
            self.costs = np.minimum(self.costs, -2 * np.log(2 * (1 - self.known)))
        self._multiples = []
        for m in () if self.alike else _MODULI:
            hits, rate = np.zeros(shape, bool), np.zeros(shape)
            for at, law in laws:
                hits[at], rate[at] = law.steps(self.noise[at]) % m == 0, law.multiples(m)
            self._multiples += [(hits, rate), (~hits, 1 - rate)]
        self._say = partial(Verdict, self.case.subject, promise=self.promise, level=self.level)

    def _uniform(self, noise: Array, part: Array | bool = True, times: float = 1.0) -> Array:
        u = np.full(noise.shape, np.nan)
        for at, law in self.parts:
            here = at & part
            u[here] = law(times).uniform(noise[here], self.uniforms[here])
        return u

    def verdicts(self) -> Iterator[Verdict]:
        """Yield the verdicts on the guarantee and on the law of the draws."""
        if not self.there.any():
            yield self._say(self.where, 1, 0, "× critical", untested="no noise was seen whose law is known")
            return
        pair = self._pair()
        odd = [(self._odd(part) - math.log(len(self.kinds)), words, part) for words, part in self.kinds]
        critical = -math.log(self.level)
        if self.bits.any():
            yield self._events(pair)
        if not self.coins:
            worst = sorted((x for x in odd if x[0] > critical and self._many(x[2])), key=lambda x: -x[0])[:8]
            tried = [(words, part) for _, words, part in worst] or self.kinds[:1]
            if self.bits.any():
                yield self._missing(tried)
            yield self._scale(tried)
        if self.rewards is not None:
            yield self._later(self.rewards)
        evidence, words = max((max(x, 0.0), words) for x, words, _ in (*odd, pair))
        narrow = "narrower" if uniforms.scale_between(self.u[self.there], 0.5)[0] > 1 else "wider"
        what = f"closest: {f'by {words}' if words else 'in all'}" + ("" if self.coins else f"; {narrow} on the whole")
        check = f"{self.where}: another law than planned ({what})"
        yield self._say(check, 1.0, max(evidence - math.log(2), 0.0) / critical, "× critical", "any law", other=True)

    def _many(self, part: Array) -> bool:
        """Return whether `part` has at least 100 draws and, if canaries are used, canaries of both values."""
        return int(part.sum()) >= _LEAST and (not self.bits.any() or len(np.unique(self.bits[part])) > 1)

    # -- the law of a part ----------------------------------------------------------------------------------------

    def _odd(self, part: Array) -> float:
        """Return the evidence, in nats, that the noise in `part` does not follow its planned law."""
        u = self.u[part]
        if self.coins:
            return uniforms.distance(u)
        if self.alike:  # continuous noise repeats no value; on a grid, multiples have known shares
            atoms = uniforms.repeats(u, self.alike)
        else:
            atoms = max(uniforms.share(hits[part], rate[part]) for hits, rate in self._multiples)
            atoms -= math.log(len(self._multiples))
        found = [uniforms.distance(u), uniforms.scale(u), uniforms.tails(u), atoms]
        return max(*found, uniforms.share(self.silent[part], self.at_zero[part])) - math.log(5)

    # -- refuted ε --------------------------------------------------------------------------------------------------

    def _fit(self, u: Array, part: Array) -> bool:
        """Return whether the `u` in `part` look uniform: all together, in each group, and for each canary bit."""
        beside = [*(at for _, at in self.coarse), self.bits, ~self.bits]
        groups = [part, *(both for group in beside if (both := part & group).any())]
        return max(uniforms.distance(u[group]) for group in groups) < math.log(_DOUBT * len(groups))

    def _missing(self, kinds: list[tuple[str, Array]]) -> Verdict:
        """Return a verdict on ε from the guesses of an observer who assumes that releases contain no noise.

        The observer knows all other rewards and guesses which of two values the changed reward has.  After any
        postprocessing of the release, such a guess is right with probability ``e^ε/(1 + e^ε)`` at most (Steinke, Nasr
        & Jagielski 2023).
        """
        delta, level = self.promise.delta, self.level / len(self.kinds)
        worst, words, claim = 0.0, "", self.cost
        there = self.there & (self.full > 0)
        for name, part in kinds:
            at = there & part & (self.silent | self.mistaken)
            n = int(at.sum())
            found = one_run_bound(int((self.silent & at).sum()), n, delta, level, int((there & part).sum()))
            # with several ε, guesses are right most often if all have the mean probability (Hoeffding 1956)
            said = self.cost if delta or not n else float(special.logit(special.expit(self.costs[at]).mean()))
            if found - said > worst - claim:
                worst, words, claim = found, f" ({name})" if name else "", said
        n, p = int(there.sum()), float(self.at_zero[there].mean())
        rate = -math.log(level) * (1 + math.exp(min(self.cost, 700.0))) / max(n, 1)
        share = 1.3 * (math.sqrt(2 * rate * p) + rate)  # besides noise that is 0 by chance
        least = self.cost if share < 1 else math.inf
        check, power = f"{self.where}: noise that is missing{words}", f"noise missing in {share:.2%}"
        return self._say(check, claim, worst, "ε", power, least=least)

    def _scale(self, kinds: list[tuple[str, Array]]) -> Verdict:
        """Return a verdict on ε from the scale of the noise: a scale divided by c multiplies ε by c.

        With canaries, their bits must be guessed more often than planned noise allows, for any postprocessing.  Pools
        of users have none: there only the fit counts.
        """
        worst, words, level = 0.0, "", self.level / len(self.kinds)
        right = (self.noise + self.moved > self.full / 2) == self.bits
        for name, part in kinds:
            times = uniforms.scale_between(self.u[part], level)[0]
            unlikely = stats.binom.sf(right[part].sum() - 1, part.sum(), self.known[part].mean()) < level
            given = unlikely or not self.bits.any()
            found = self.cost * self._fitted(part, times, level) if given and times > 1.0 else 0.0
            if found > worst:
                worst, words = found, f" ({name})" if name else ""
        n, known = int(self.there.sum()), float(self.known[self.there].mean())
        off = _guessed_off(n, 1 - known, level) if self.bits.any() else uniforms.factor(n, level)
        check, power = f"{self.where}: noise that is too narrow{words}", f"a scale {off:.2f} times too small"
        return self._say(check, self.cost, worst, "ε", power, least=self.cost * off)

    def _fitted(self, part: Array, times: float, level: float) -> float:
        """Return a lower bound on the factor by which the noise in `part` is too narrow; 0 if no scaled law fits."""
        if any(law(times) is None for at, law in self.parts if (at & part).any()):
            return 0.0
        low, high, u = 1.0, min(2 * times, _NARROWEST), self.u
        for _ in range(_ROUNDS):
            middle = math.sqrt(low * high)
            u = self._uniform(self.noise, part, middle)
            low, high = (middle, high) if uniforms.scale_between(u[part], 0.5)[0] > 1 else (low, middle)
        return high * uniforms.scale_between(u[part], level)[1] if self._fit(u, part) else 0.0

    def _events(self, pair: tuple[float, str, Array]) -> Verdict:
        """Return a verdict on ε from an event of one or two draws; a third of the runs serves to select the event."""
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
        """Return features of the draws, as seen by an observer who knows all other rewards."""
        seen = np.round(self.noise + self.moved, 11)  # rounding errors of sums of rewards reveal nothing
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
                steps = np.round(self.full[at] * law(1.0).per)
                x[at] = np.where(steps % m != 0, law(1.0).steps(seen[at]) % m == 0, np.nan)
            found[f"multiple of {m}"] = x
        return {k: np.where(np.isnan(x), -1.0, x) for k, x in found.items() if telling({k: x[self.there]})}

    # -- two draws -----------------------------------------------------------------------------------------------

    def _pair(self) -> tuple[float, str, Array]:
        """Return the evidence that pairs of draws share randomness, the distance as text, and each draw's partner."""
        b, r, a = self.u.shape
        evidence, (later, on, i, j) = uniforms.at_any_distance(self.u)
        self._tried = math.log(2.0 * b * r * a * a)
        at = np.indices(self.u.shape)
        other = np.array([at[0] + later, at[1] + on, at[2] if i == j else np.full(self.u.shape, j)])
        mine = ((at[2] == i) | (i == j)) & (other[0] >= 0) & (other[0] < b) & (other[1] >= 0) & (other[1] < r)
        return evidence, f"{later} later, {on} runs on, seats {i} and {j}", np.where(mine, other, -1)

    def _together(self, other: Array) -> dict[str, Array]:
        """Return features of pairs of draws for an observer who knows the reward of the second draw."""
        mine, where = other[0] >= 0, tuple(np.maximum(other, 0))
        if self.coins:
            return {"sides": np.where(mine, 4 * self.noise + 2 * self.noise[where] + self.bits[where], np.nan)}
        seen = self.noise + self.moved
        one, two = (np.where(mine, x, np.nan) for x in (self._uniform(seen), self.u[where]))
        return {
            "circle less": np.abs((one - two + 0.5) % 1 - 0.5),
            "circle and": np.abs((one + two + 0.5) % 1 - 0.5),
            "less": np.where(mine, np.abs(np.round(seen - self.noise[where], 9)), np.nan),
            "sides": np.where(np.isnan(one + two), np.nan, 2.0 * (one > 0.5) + (two > 0.5)),
        }

    def _later(self, rewards: Array) -> Verdict:
        """Return a verdict on whether noise is correlated with the uniforms from which later rewards are drawn."""
        (b, r, a), (c, _, d) = self.u.shape, rewards.shape
        mine, theirs = (x.transpose(0, 2, 1).reshape(-1, r) for x in (self.u, rewards))
        pairs = np.repeat(np.arange(b), a)[:, None] < np.repeat(np.arange(c), d)
        evidence, (one, two) = uniforms.at_places(mine, theirs, pairs)
        check = f"{self.where}: noise that knows a later reward (place {one // a} and {two // d})"
        return self._say(check, 1.0, max(evidence, 0.0) / -math.log(self.level), "× critical", "a later reward's draw")


def _guessed_off(n: int, wrong: float, level: float) -> float:
    """Return the smallest factor c such that n guesses detect Laplace noise whose scale is divided by c.

    `wrong`: probability that a guess is wrong under the planned noise.
    """
    times = np.geomspace(1.0, _NARROWEST, 1000)
    seen = 0.5 * (2 * wrong) ** times
    far = n * (special.rel_entr(seen, wrong) + special.rel_entr(1 - seen, 1 - wrong))
    given = np.sqrt(far) > math.sqrt(-math.log(level)) + 1
    return float(times[given.argmax()]) if given.any() else math.inf


def _cut(epsilon: float, delta: float, n: int, level: float) -> str:
    """Return as text the probability of the smallest tail whose absence n draws per reward value detect."""
    for hits in np.unique(np.geomspace(10, max(n, 11), 60).astype(int)).tolist():
        if epsilon_lower_bound(hits, 0, max(n, hits), delta, level) > epsilon:
            p = (hits + 1.3 * math.sqrt(hits)) / n * math.exp(-epsilon)
            return f"tails cut off where {p:.2g} of the law is left"
    return "no cut tail"
