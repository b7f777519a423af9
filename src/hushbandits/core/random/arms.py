"""The arms of R runs: their locations, their changes over time, and the regret of a pull."""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hushbandits.core.random.names import INSTANCE
from hushbandits.core.random.philox import fill
from hushbandits.core.random.quantiles import TABLE, WORTH, tabled
from hushbandits.core.random.rewards import LAWS, Law, RepeatingMeans, Smooth, UniformMeans
from hushbandits.core.random.streams import LONGEST, Streams
from hushbandits.core.utils import Array, Params, Registry, Spec, count, flag, jit, lean, nearest, real
from hushbandits.core.utils.validate import affordable, integer, reals, shown

_LAW = Registry(
    "reward law", "a Law class", lambda cls: issubclass(cls, Law), {name: Spec(law) for name, law in LAWS.items()}
)
_NO_ORDER, _NO_MEANS = np.empty((0, 0), np.int64), np.empty(0)


def make_law(rewards: str | Law | type[Law] | Mapping[str, Params], name: str = "rewards") -> Law:
    """Return the reward law that `rewards` names or describes; return a `Law` instance unchanged.

    A name is one of `LAWS`, or ``"module:Class"`` of a user-defined law.  ``{"module:Class": {"sigma": 0.5}}`` has
    parameters.

    Examples
    --------
    >>> make_law("beta"), make_law({"hushbandits.core.random.rewards:Gaussian": {"sigma": 0.1}})
    (Beta(concentration=4.0), Gaussian(sigma=0.1))
    """
    if isinstance(rewards, Law):
        return rewards
    given: Params = {}
    if isinstance(rewards, str) and rewards in LAWS:
        return _shipped(rewards)
    if isinstance(rewards, Mapping) and len(rewards) == 1:
        ((rewards, given),) = rewards.items()
    if not isinstance(rewards, type) and (not isinstance(rewards, str) or (":" not in rewards and rewards not in LAWS)):
        raise ValueError(f"{name}={shown(rewards)} is not a reward law{nearest(str(rewards), LAWS)}")
    if not isinstance(given, Mapping):
        raise ValueError(f"{name}={shown({rewards: given})} must map a law to a table of its parameters")
    return _LAW.find(rewards).build(Law, f"reward law {shown(rewards)}", given)  # type: ignore[type-abstract]


@functools.cache
def _shipped(name: str) -> Law:
    return LAWS[name]()


def draw_means(means: Sequence[float] | UniformMeans, n_arms: int | None, law: Law) -> tuple[Array | UniformMeans, int]:
    """Return `means` and the number of arms; raise ``ValueError`` if `means` do not fit `n_arms` or the law.

    Raises
    ------
    ValueError
        Names the offending mean, or the two lengths that disagree.
    """
    low, high = law.locations
    if isinstance(means, UniformMeans):
        if n_arms is None:
            raise ValueError("means=UniformMeans(...) needs n_arms")
        if means.low < low or means.high > high:
            raise ValueError(f"means={means!r} must lie in [{low:g}, {high:g}] for {law!r}")
        return means, integer("n_arms", n_arms, 2)
    if isinstance(means, RepeatingMeans) and n_arms is not None:
        affordable(f"n_arms={shown(n_arms)}", 64.0 * integer("n_arms", n_arms, 2))
        means = means.of(n_arms)
    values = reals("means", means)
    if values.ndim != 1 or len(values) < 2:
        raise ValueError(f"means={shown(means)} must list at least two arm means")
    if n_arms is not None and n_arms != len(values):
        raise ValueError(f"n_arms={n_arms}, but means lists {len(values)} arms: leave out n_arms or means")
    if not ((values >= low) & (values <= high) & np.isfinite(values)).all():
        for k, mean in enumerate(values):
            real(f"means[{k}]", float(mean), low, high, closed="both")
    return values, len(values)


def draw_locations(means: Array | UniformMeans, n_arms: int, permute: bool, rng: Streams) -> Array:
    """Return ``(R, K)`` arm locations, drawn or given, for every run; shuffled within runs if `permute` is true."""
    cursors, locations = rng.cursors(part=INSTANCE), np.empty((len(rng), n_arms))
    many = permute and n_arms > 64  # fewer are sorted by insertion
    order = rng.uniforms(0, (2, n_arms), INSTANCE)[:, 1].argsort(1) if many else _NO_ORDER
    given, low, high = (_NO_MEANS, means.low, means.high) if isinstance(means, UniformMeans) else (means, 0.0, 0.0)
    _place(cursors, order, given, low, high - low, permute, locations)
    return locations


@jit
def _place(cursors, orders, given, low, span, permute, out):  # type: ignore[no-untyped-def]
    """Write each run's locations, `given` or ``low + span·u[:K]``, to `out`, sorted by ``u[K:]`` if `permute`.

    u are the first uniform samples of the run's cursor.
    """
    arms = out.shape[1]
    order, u = np.arange(arms), np.empty(2 * arms)
    for r in range(out.shape[0]):
        fill(cursors, r, u)
        if orders.size:
            order = orders[r]
        elif permute:  # by insertion
            for k in range(arms):
                at = k
                while at > 0 and u[arms + order[at - 1]] > u[arms + k]:
                    order[at] = order[at - 1]
                    at -= 1
                order[at] = k
        for k in range(arms):
            out[r, k] = given[order[k]] if given.size else low + span * u[order[k]]


@lean
def _put(rows, location, mean, gap, locations, means, gaps):  # type: ignore[no-untyped-def]
    """Write `location`, `mean` and `gap` of the arms of the runs `rows` to those of all runs."""
    for i in range(rows.size):
        for k in range(mean.shape[1]):
            at = rows[i], k
            locations[at], means[at], gaps[at] = location[i, k], mean[i, k], gap[i, k]


@lean
def _pick(arm, locations, gaps, location, gap):  # type: ignore[no-untyped-def]
    """Write location and gap of each pulled `arm` to `location` and `gap`."""
    for r in range(arm.shape[0]):
        for a in range(arm.shape[1]):
            location[r, a], gap[r, a] = locations[r, arm[r, a]], gaps[r, arm[r, a]]


@lean
def pick_rounds(arm, locations, gaps, location, gap):  # type: ignore[no-untyped-def]
    """Write location and gap of the pulled arms ``(n, R, A)`` of n rounds, given locations ``(R, 1 or A, K)``."""
    own = locations.shape[1] > 1
    for i in range(arm.shape[0]):
        for r in range(arm.shape[1]):
            for a in range(arm.shape[2]):
                k = arm[i, r, a]
                location[i, r, a], gap[i, r, a] = locations[r, a if own else 0, k], gaps[r, k]


def moving_locations(start: Array, t: Array, drift: float, period: float) -> Array:
    """Return the locations at time t, ``(…, K)``, of arms whose locations at time 0 are `start`.

    All but the best fall by `drift` a round down to 0 (Féraud et al. 2019, problem 3); every `period` rounds the
    means move on by one arm, so that another arm is the best.

    Parameters
    ----------
    start : (…, K) array
        At round 0.
    t : (…) int array
        Rounds, against the leading axes of `start`.
    drift, period : float
        0 and ∞: nothing moves.

    Examples
    --------
    >>> moving_locations(np.array([0.7, 0.5, 0.1]), np.array([0, 20_000]), 1e-5, np.inf).round(9).tolist()
    [[0.7, 0.5, 0.1], [0.7, 0.3, 0.0]]
    >>> moving_locations(np.array([0.7, 0.5, 0.1]), np.array([9, 10]), 0.0, 10).tolist()
    [[0.7, 0.5, 0.1], [0.1, 0.7, 0.5]]
    """
    t = np.asarray(t)[..., None]
    now = start
    if drift:  # what does not drift may stand below 0
        best = start == start.max(-1, keepdims=True)
        now = np.where(best, start, np.maximum(start - drift * t, 0.0))
    if period == math.inf:
        return np.broadcast_to(now, np.broadcast_shapes(now.shape, t.shape))
    arms = np.arange(start.shape[-1])
    source = (arms - (t // period).astype(np.int64)) % arms.size
    shape = np.broadcast_shapes(now.shape, source.shape)
    return np.take_along_axis(np.broadcast_to(now, shape), np.broadcast_to(source, shape), -1)


class Standing(NamedTuple):
    """Locations, means and gaps of arms in a round, each ``(…, K)``."""

    location: Array
    mean: Array
    gap: Array


class Arms:
    """The arms of all runs; their means may be random, shuffled, drifting or switching.

    Parameters
    ----------
    means : sequence of K floats or UniformMeans
        Locations of the arms, or the law from which every run draws its own.
    rewards : str or Law
        Reward law.
    n_arms : int, optional
        K, where `means` is a law; else only checked against their number.
    permute : bool
        Shuffle the arms of every run, so that no tie rule favours the best arm by its index.
    drift : float
        By how much all arms but the best fall per round, down to 0.
    n_change_points : int
        How often within the horizon the means move on by one arm, at equal distances.
    horizon : int, optional
        Rounds; beyond the last one the arms stand where they stood in it.

    Attributes
    ----------
    law : Law
    n_arms : int
    moving : bool
        Whether time matters.  Arms that stand still are looked up, not computed.
    locations : (R, K) float
        At round 0.

    Notes
    -----
    A time `t` is an int, ``(R,)``, or with more axes behind R (a server's own clock); what stands still comes back
    with axes of length 1 there.
    """

    #: What an arm is called in a picture, and what its mean is.
    words = ("arm", "mean")
    locations: Array

    def __init__(
        self,
        means: Sequence[float] | UniformMeans,
        rewards: str | Law = "bernoulli",
        *,
        n_arms: int | None = None,
        permute: bool = True,
        drift: float = 0.0,
        n_change_points: int = 0,
        horizon: int | None = None,
    ):
        self.law = make_law(rewards)
        self._source, self.n_arms = draw_means(means, n_arms, self.law)
        self.permute = flag("permute_arms", permute)
        self.drift = real("drift", drift, 0, closed="low")
        self.n_change_points = count("n_change_points", n_change_points, 0)
        if self.drift and not (self.law.unit_interval and self.law.locations == (0.0, 1.0)):  # indices cannot drift
            raise ValueError(f"drift={drift!r} needs a reward law whose means lie in [0, 1], not {self.law!r}")
        if self.n_change_points and horizon is None:
            raise ValueError(f"n_change_points={n_change_points!r} needs a horizon, such as horizon=100_000")
        self._last: float = math.inf if horizon is None else count("horizon", horizon, 1, LONGEST) - 1
        self._period = (self._last + 1) / (self.n_change_points + 1) if self.n_change_points else math.inf
        self.moving = self.drift > 0 or self.n_change_points > 0
        self._looked_up = False
        #: The law by tables, where it is worth it.
        self.tables: Law | None = None

    def expect(self, pulls: float) -> int:
        """Decide from `pulls` per run whether to tabulate the quantile function; return the tables' size in bytes.

        Returns
        -------
        int
            Bytes that a run's tables take.
        """
        still = type(self) is Arms and not self.drift and isinstance(self.law, Smooth)
        self._looked_up = still and pulls >= WORTH * self.n_arms
        return TABLE * self.n_arms if self._looked_up else 0

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the arms in figures."""
        return tuple(map(str, range(self.n_arms)))

    @property
    def given(self) -> Array | None:
        """``(K,)`` locations that all runs share up to a permutation; ``None`` if every run draws new locations."""
        return None if isinstance(self._source, UniformMeans) else self._source

    def reset(self, rng: Streams, rows: Array | None = None) -> None:
        """Draw the arms of all runs, or of the runs `rows` only."""
        fresh = self._stand(self._placed(rng))
        if rows is None:
            self._still, self._runs = fresh, np.arange(len(rng))[:, None]
        else:
            _put(rows, *fresh, *self._still)
        self.locations = self._still.location
        self.tables = tabled(self.law, self.locations) if self._looked_up else None

    def _placed(self, rng: Streams) -> Array:
        """Return the arms' initial locations, drawn or given, for the n runs of `rng`, ``(n, K)``."""
        return draw_locations(self._source, self.n_arms, self.permute, rng)

    def _stand(self, location: Array) -> Standing:
        location, mean = np.ascontiguousarray(location, float), self.law.mean(location)
        return Standing(location, mean, np.subtract(mean.max(-1, keepdims=True), mean, np.empty(mean.shape)))

    def move(self, start: Array, t: Array) -> Array:
        """Return the locations, ``(…, K)``, of arms that start at `start` and move for `t` rounds."""
        return moving_locations(start, t, self.drift, self._period)

    def _where(self, t: Array | int, run: int | None) -> Array:
        """Return the locations in round t of moving arms, for all runs or for the run with index `run`."""
        start = self.locations if run is None else self.locations[run]
        if run is None:
            t = np.broadcast_to(t, (len(start),)) if np.ndim(t) == 0 else np.asarray(t)
            start = start.reshape(len(start), *[1] * (t.ndim - 1), self.n_arms)
        return self.move(start, np.minimum(t, self._last))

    def look(self, t: Array | int, run: int | None = None) -> Standing:
        """Return locations, means and gaps of the arms in round t.

        Parameters
        ----------
        t : int or (R, …) int array
            Rounds played before; with `run`, of any shape.
        run : int, optional
            One run instead of all; if nothing moves, its arms come without an axis for time.
        """
        if self.moving:
            return self._stand(self._where(t, run))
        if run is not None:
            return Standing(*(values[run] for values in self._still))
        if getattr(t, "ndim", 0) < 2:  # in every phase: `np.ndim` takes longer
            return self._still
        return Standing(*(v.reshape(len(v), *[1] * (np.ndim(t) - 1), self.n_arms) for v in self._still))

    def at(self, t: Array | int, run: int | None = None) -> Array:
        """Return the locations of the arms in round t."""
        return self._where(t, run) if self.moving else self.look(t, run).location

    def means(self, t: Array | int, run: int | None = None) -> Array:
        """Return the means of the arms in round t."""
        return self.look(t, run).mean

    def gap(self, t: Array | int, run: int | None = None) -> Array:
        """Return the gap between the best mean and each arm's mean in round t."""
        return self.look(t, run).gap

    def pick(self, arm: Array, t: Array | int) -> tuple[Array, Array]:
        """Return location and gap of the pulled arms in round t, both ``(R, A)``.

        Parameters
        ----------
        arm : (R, A) int array
            Or of n rounds, ``(n, R, A)``, if the arms stand still.
        t : int, or (R,) or (R, A) int array
        """
        if not self.moving:
            location, gap = np.empty(arm.shape), np.empty(arm.shape)
            if arm.ndim == 2:
                _pick(arm, self.locations, self._still.gap, location, gap)
            else:
                pick_rounds(arm, self.locations[:, None], self._still.gap, location, gap)
            return location, gap
        location, _, gap = self.look(t)
        if np.ndim(t) < 2:
            return location[self._runs, arm], gap[self._runs, arm]
        own = arm[..., None]
        return np.take_along_axis(location, own, -1)[..., 0], np.take_along_axis(gap, own, -1)[..., 0]

    def stretch(self, t: Array | int) -> Array:
        """Return the number of rounds, from round t on, in which the arms keep their locations."""
        t = np.asarray(t)
        if self.drift:
            return np.ones(t.shape, np.int64)
        if not self.n_change_points:
            return np.full(t.shape, LONGEST)
        step = np.floor_divide(t, self._period)
        next_ = np.ceil((step + 1) * self._period).astype(np.int64)
        # The quotient decides when arms switch; the product may be off by a rounding.
        next_ += np.floor_divide(next_, self._period) <= step
        next_ -= np.floor_divide(next_ - 1, self._period) > step
        return next_ - t
