"""The ledger of a mechanism, which records the blocks of each run and the privacy costs of users."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from hushbandits.core import RESOLVED, Array, Noise, integer, jit, lean, real
from hushbandits.core.utils.jit import inlined
from hushbandits.privacy import divergence, samplers
from hushbandits.privacy.noise import Curve, Half, Profile, halved
from hushbandits.privacy.plans import Plan

#: Blocks that are written down before they are counted.
_LONG = 1 << 17
#: Places of a new table of sizes.
_FEW = 1 << 6


class Kinds:
    """A table with a row of numbers for each block size.

    Parameters
    ----------
    numbers : callable
        ``numbers(size)`` → a tuple of numbers; it is called once for each size.
    dtype : type
        Of the numbers.

    Examples
    --------
    >>> kinds = Kinds(lambda n: (n * n, -n), np.int64)
    >>> kinds.by_size(np.array([[5], [4]])).tolist()
    [[[25], [16]], [[-5], [-4]]]
    """

    def __init__(self, numbers: Callable[[int], tuple[float, ...]], dtype: type):
        self._numbers, self._count = numbers, 0
        #: The known sizes, each at its `_place`, −1 elsewhere; and their rows.
        self.known: Array = np.full(_FEW, -1)
        self.table: Array = np.empty((_FEW, 0), dtype)

    def by_size(self, sizes: Array) -> Array:
        """Return the table rows of block `sizes` ≥ 0 as columns, ``(width, …)``."""
        flat = sizes.reshape(-1)
        while True:
            columns: Array = np.empty((self.table.shape[1], flat.size), self.table.dtype)
            if (new := _look_up(flat, self.known, self.table, columns)) < 0:
                return columns.reshape(len(columns), *sizes.shape)
            self.add(new)

    def add(self, size: int) -> None:
        """Add the row of a new `size` to the table."""
        row = np.array([self._numbers(size)], self.table.dtype)
        if self._count == 0 or 2 * self._count > len(self.known):  # only now is the width known, or half is full
            old = self.known >= 0
            sizes, rows = self.known[old], self.table[old]
            self.known = np.full(2 * len(self.known), -1)
            self.table = np.empty((len(self.known), row.size), row.dtype)
            _fill(sizes, rows, self.known, self.table)
        _fill(np.array([size]), row, self.known, self.table)
        self._count += 1


@inlined
def place(known, size):  # type: ignore[no-untyped-def]
    """Return where `known` has the `size`, or else would have it: the first free place from its hash on."""
    at = (size ^ size >> 6 ^ size >> 12) & known.size - 1
    while known[at] != size and known[at] >= 0:
        at = at + 1 & known.size - 1
    return at


@jit
def _fill(sizes, rows, known, table):  # type: ignore[no-untyped-def]
    """Write `sizes` and their `rows` to their places in `known` and `table`."""
    for i in range(sizes.size):
        at = place(known, sizes[i])
        known[at] = sizes[i]
        for c in range(table.shape[1]):  # a slice would compile Numba's message about unequal shapes: seconds
            table[at, c] = rows[i, c]


@lean
def _look_up(sizes, known, table, columns):  # type: ignore[no-untyped-def]
    """Write each size's table row to a column of `columns`; return the first unknown size, or −1 if all are known."""
    for i in range(sizes.size):
        at = place(known, sizes[i])
        if known[at] < 0:
            return sizes[i]
        for c in range(columns.shape[0]):
            columns[c, i] = table[at, c]
    return -1


class Noises:
    """The noise distributions of blocks, by the number of planned users, for `Payload.add`.

    Parameters
    ----------
    law : callable
        ``law(n)`` → each user's noise in a block planned for n.
    """

    def __init__(self, law: Callable[[int], Noise]):
        self._law, self._halves = law, Kinds(self._half, np.float64)
        self._laws: dict[int, Noise] = {}

    def __call__(self, n: int) -> Noise:
        if (known := self._laws.get(n)) is None:
            known = self._laws[n] = self._law(n)
        return known

    def _half(self, n: int) -> tuple[float, float, float]:
        half = halved(self(n)) if n else Half(0.0, 0.0)
        return (0.0, 0.0, 0.0) if half is None else (1.0, half.share, np.nan if half.p is None else half.p)

    def pair(self, planned: Array, left: Array) -> tuple[Array, Array, Array]:
        """Return the mask of blocks whose noise is the difference of two samples, and the parameters of these samples.

        All are ``(R, M)``, for the `left` users of blocks that were planned for `planned`; elsewhere they are 0.
        """
        drawn, share, p = self._halves.by_size(planned)
        return drawn > 0, joined(left, share), p


def joined(n: Array | int, share: Array | float) -> Array:
    """Return the noise parameter of `n` users with a `share` each, rounded if it is within 1e-12 of an integer."""
    whole = np.rint(n * share)
    return np.where(abs(n * share - whole) < 1e-12, whole, n * share)


@dataclass(frozen=True)
class Spent:
    """The privacy cost of one block to each of its users.

    Parameters
    ----------
    epsilon, delta : float
        (ε, δ) of the block's release.
    curve : callable or None
        Its Rényi curve, for returning users; ``None``: none is known.
    profile : callable or None
        ``profile()`` → its `noise.Profile`; ``None``, of either: that of any (ε, δ)-DP release.
    """

    epsilon: float
    delta: float = 0.0
    curve: Curve | None = None
    profile: Callable[[], Profile | None] | None = field(default=None, compare=False)

    def exact(self) -> Profile:
        """Return the block's own privacy profile if it is known, else the profile of a general (ε, δ)-DP release."""
        known = self.profile() if self.profile is not None else None
        return known if known is not None else divergence.pure_profile(self.epsilon, self.delta)


def polya_price(plan: Plan, epsilon: float, survivors: int) -> Spent:
    """Return the cost of a block with Pólya noise: ε, or a larger ε if too few users survive."""
    law = plan.noise
    assert isinstance(law, samplers.PolyaDifference)
    left = survivors * law.r
    cost = epsilon if left >= 1 - 1e-9 else max(epsilon, samplers.polya_epsilon(left, law.b, plan.g))
    return Spent(cost, 0.0, divergence.pure_curve(cost), partial(divergence.law_profile, law, survivors, plan.g))


class Ledger:
    """The blocks of one mechanism in each run, and their privacy costs.

    A user takes part once, so blocks compose in parallel: every user has spent at most (`worst`, `worst_delta`), each
    the largest of all blocks.

    Parameters
    ----------
    price : callable
        ``price(n, survivors)`` → `Spent`, for a block planned for n users of whom some survived.
    details : callable
        ``details(n)`` → dict of the block's parameters (``g``, ``noise``).
    runs : int
    """

    def __init__(self, price: Callable[[int, int], Spent], details: Callable[[int], dict[str, object]], runs: int):
        self.price, self.details = price, details
        self._uses: dict[int, Counter[tuple[int, int, int]]] = defaultdict(Counter)  # by run, those that are counted
        self._prices: dict[tuple[int, int], Spent] = {}
        self._whole = Kinds(self.cost, np.float64)
        # Blocks are counted when they are asked for; those of runs that start again are never counted.
        self._log: list[tuple[Array, Array]] = []
        self._since = np.zeros(runs, np.int64)  # the entry of the log with which each run begins
        #: (R,) largest ε of a block so far, and largest δ: together they hold for every user who took part once.
        self.worst: Array = np.zeros(runs)
        self.worst_delta: Array = np.zeros(runs)

    def reset(self, rows: Array) -> None:
        """Delete the blocks and reset the costs of the runs `rows`."""
        for run in rows.tolist() if self._uses else ():
            self._uses.pop(run, None)
        self._since[rows] = len(self._log)
        self.worst[rows] = self.worst_delta[rows] = 0.0

    def spent(self, n: int, survivors: int) -> Spent:
        """Return the `price` of a block planned for n users, computed once per n and number of `survivors`."""
        if (known := self._prices.get((n, survivors))) is None:
            known = self._prices[n, survivors] = self.price(n, survivors)
        return known

    def cost(self, n: int, survivors: int | None = None) -> tuple[float, float]:
        """Return ε and δ of a block planned for n users, who all survive by default."""
        left = n if survivors is None else survivors
        spent = self.spent(n, left) if left else Spent(0.0)
        return spent.epsilon, spent.delta

    def note(self, n: Array, survivors: Array) -> None:
        """Record a round's blocks ``(R, M)`` that have survivors, without costs; `n` is stored without a copy."""
        self._log.append((n, survivors.copy()))
        if len(self._log) * n.size > _LONG:
            behind = int(self._since.min())  # rounds that every run has left behind
            del self._log[:behind]
            self._since -= behind
            if not behind:
                self._count()

    def use(self, n: Array, survivors: Array) -> None:
        """Record a round's blocks ``(R, M)`` that have survivors, and their costs; `n` is stored without a copy."""
        self.note(n, survivors)
        if not np.count_nonzero((survivors != n) & (survivors != 0)):
            cost = self._whole.by_size(survivors)
        else:
            each = [*map(self.cost, n.ravel().tolist(), survivors.ravel().tolist())]
            cost = np.array(each).T.reshape(2, *n.shape)
        dearest = np.maximum.reduce(cost, 2)
        np.maximum(self.worst, dearest[0], out=self.worst)
        np.maximum(self.worst_delta, dearest[1], out=self.worst_delta)

    def _count(self) -> None:
        """Add the blocks in the log to the counts of each run and kind of block, and clear the log."""
        for entry, (n, survivors) in enumerate(self._log):
            at = np.nonzero((survivors > 0) & (self._since <= entry)[:, None])
            for r, *kind in zip(*(each.tolist() for each in (*at, n[at], survivors[at])), strict=True):
                self._uses[r][tuple(kind)] += 1
        self._log.clear()
        self._since[:] = 0

    def _used(self, run: int) -> Counter[tuple[int, int, int]]:
        """Return the number of a run's blocks by server, planned users and survivors."""
        self._count()
        return self._uses[run]

    def rows(self, run: int) -> list[dict[str, object]]:
        """Return a dict per kind of block: server, planned users, survivors, number of blocks, parameters, (ε, δ)."""
        out = []
        for (server, n, survivors), blocks in sorted(self._used(run).items()):
            spent = self.spent(n, survivors)
            row = {"server": server, "planned": n, "survivors": survivors, "blocks": blocks, **self.details(n)}
            out.append({**row, "epsilon": spent.epsilon, "delta": spent.delta})
        return out

    def returning(self, run: int, blocks: int, delta: float) -> tuple[float, float]:
        """Return (ε, δ) of a user who took part in any `blocks` blocks of the run.

        The best of three bounds: adding up the largest ε and the largest δ; composing the pointwise largest Rényi
        curve; composing the pointwise largest divergence (`divergence.composed_epsilon`, for δ ≥ 1e-10).  What is
        largest is taken order by order and ε by ε: a block that is dearer once may be cheaper a thousand times.

        Returns
        -------
        epsilon, delta : float
            At the given δ; where no bound attains that, what adding up gives, with its own, larger δ.
        """
        integer("blocks", blocks, 1)
        real("delta", delta, 0, 1, closed="low")
        kinds = list({(n, s): self.spent(n, s) for _, n, s in self._used(run)}.values())
        if not kinds:
            return 0.0, 0.0
        added = blocks * max(k.epsilon for k in kinds), min(1.0, blocks * max(k.delta for k in kinds))
        bounds = [added[0]] if added[1] <= delta else []
        curves = [k.curve for k in kinds if k.curve is not None]
        if len(curves) == len(kinds) and delta > 0:
            bounds.append(divergence.to_epsilon(lambda alpha: blocks * max(curve(alpha) for curve in curves), delta))
        if delta >= RESOLVED and all(math.isfinite(k.epsilon) for k in kinds):
            worst = divergence.worst_profile([k.exact() for k in kinds])
            bounds.append(divergence.composed_epsilon(worst, blocks, delta))
        best = min(bounds, default=math.inf)
        if math.isinf(best):
            return added
        return best, (added[1] if best == added[0] and added[1] <= delta else delta)
