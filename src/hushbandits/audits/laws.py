"""Checks of noise against its law: exact computation for guarantees, statistical tests for drawn noise.

Drawn noise comes from blocks of users and from agents on a graph.  Every block has a canary among its users, and on
a graph every reward is one.  Noise is compared with the planned law of the survivors (`planned_law`), so that blocks
of all sizes are tested together (`Draws`).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from scipy import stats

from hushbandits.audits.cases import Case, Verdict
from hushbandits.audits.draws import Draws
from hushbandits.audits.planned import Continuous, OnGrid, composed_delta, log_pair, planned_law
from hushbandits.audits.play import BACKGROUNDS, Seen, around, block, place, seen, shown, stage
from hushbandits.core import Array, Params
from hushbandits.privacy.divergence import epsilon_at, worst_profile
from hushbandits.privacy.laplace import release_counts
from hushbandits.privacy.ledger import Ledger
from hushbandits.privacy.noise import Profile
from hushbandits.privacy.samplers import DiscreteLaplace, Laplace
from hushbandits.wrappers.local_bernoulli import LocalBernoulli
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.mechanism import Mechanism
from hushbandits.wrappers.private_means import PrivateMeans

#: Sizes of large blocks.
LARGE = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
_RESOLUTION = 1e-12  # rounding error of a δ


# -- guarantees -------------------------------------------------------------------------------------------------------


def _mechanism(case: Case) -> Iterator[Verdict]:
    """Yield the verdicts of all exact checks of a mechanism on blocks, at each ε of the budget's grid."""
    for made in case.over(*case.budget.grid):
        mechanism, epsilon = made.owner, made.promise.epsilon
        least, most = mechanism.smallest, 256 if case.make is None or epsilon == 1 else 64
        yield from every_size(made, range(least, min(case.budget.largest, most) + 1))
        yield from every_size(made, LARGE)
        for n in (n for n in (2, 19, 64, 1000) if n >= least):
            sure = max(mechanism.sure(n), least)
            for survivors in dict.fromkeys((n, sure, max(least, sure // 2))):
                yield from white_box(made, n, survivors)
        yield from _composed(made, [(64, 64)] * 3)
        yield from _composed(made, [(64, 64)] * 2 + [(64, max(least, 10))] * 2)


def _held(case: Case, law: Profile, epsilon: float, delta: float, check: str) -> Verdict:
    """Return a verdict that compares (ε, δ) with the exact privacy profile `law`: by ε if δ is 0, else by δ."""
    say = partial(Verdict, case.subject, f"white box, {check}", least=epsilon)
    if not delta:
        return say(epsilon, epsilon_at(law, _RESOLUTION))
    found = float(law(np.array([epsilon * (1 + 1e-9)]))[0])
    rounded = found if found > delta * (1 + 1e-6) + _RESOLUTION else min(found, delta)
    return say(delta, rounded, f"δ at ε = {epsilon:.4g}")


def white_box(case: Case, n: int, survivors: int) -> Iterator[Verdict]:
    """Check the exact law of a block's noise, for n planned users of whom `survivors` take part.

    The checks cover the guarantee (for the number of survivors that the mechanism assumes), the cost of the block, and
    the observer's view that the mechanism declares (`Mechanism.seen`).
    """
    mechanism, where = case.owner, f"n = {n}" + (f", {survivors} left" if survivors < n else "")
    law, said = Mechanism.seen(mechanism, n, survivors), mechanism.seen(n, survivors)
    if law is None:
        return
    if survivors >= mechanism.sure(n):
        yield _held(case, law, case.promise.epsilon, case.promise.delta, f"{where}: promise")
    spent = mechanism.price(n, survivors)
    if math.isfinite(spent.epsilon):
        yield _held(case, law, spent.epsilon, spent.delta, f"{where}: price at δ {spent.delta:g}")
    if said is not None:
        x = np.linspace(0, 1.5 * mechanism.epsilon, 13)
        over = float((law(x) - said(x)).max()) - 1e-9
        yield Verdict(case.subject, f"white box, {where}: profile", 0.0, over, "δ above it")


def every_size(case: Case, sizes: Sequence[int]) -> Iterator[Verdict]:
    """Check the guarantee by the exact noise law at each block size.

    Each law is for the smallest number of participants that `owner` assumes.
    """
    promise, sure = case.promise, case.owner.sure
    laws = {n: Mechanism.seen(case.owner, n, max(sure(n), case.owner.smallest)) for n in sizes}
    known = {n: law for n, law in laws.items() if law is not None}
    if len(known) < len(laws):
        check = f"white box, {len(laws) - len(known)} sizes up to n = {max(laws.keys() - known.keys()):,}: promise"
        yield Verdict(case.subject, check, 0, 0, promise=promise, untested="its law is not known, or too wide")
    if known:
        at = max(known, key=lambda n: float(known[n](np.array([promise.epsilon * (1 + 1e-9)]))[0]))
        check = f"{len(known)} sizes from {min(sizes)} to {max(sizes):,} (worst: n = {at:,}): promise"
        yield _held(case, known[at], promise.epsilon, promise.delta, check)


def _composed(case: Case, mixture: Sequence[tuple[int, int]]) -> Iterator[Verdict]:
    """Check the ledger's composed ε at several δ against the exact law, for a user in all blocks of `mixture`.

    `mixture` has a pair of planned and remaining users per block.
    """
    releases = [case.owner.release(n, s) for n, s in mixture]
    laws = [law for n, s in mixture if (law := Mechanism.seen(case.owner, n, s)) is not None]
    if None in releases or len(laws) < len(mixture):
        return
    book = Ledger(case.owner.price, case.owner.ledger.details, 1)
    for n, s in mixture:
        book.use(np.array([[n]]), np.array([[s]]))
    kinds = ", ".join(f"{s} of {n}" for n, s in dict.fromkeys(mixture))
    pairs = [log_pair(release.law, release.draws, release.shift) for release in releases]
    for delta in (1e-6, 1e-3):
        epsilon, at = book.returning(0, len(mixture), delta)
        if math.isfinite(epsilon) and at < 1:
            found = composed_delta(pairs, epsilon, max(2e-4, epsilon / 20_000))
            check = f"white box, ledger, {len(mixture)} blocks ({kinds}), ε = {epsilon:.4g}"
            yield Verdict(case.subject, check, at, max(found - 1e-9, 0.0), "δ")
    if math.isfinite(epsilon := float(book.worst[0])):
        check = f"ledger, any one block ({kinds})"
        yield _held(case, worst_profile(laws), epsilon, float(book.worst_delta[0]), check)


# -- wrappers on a graph ----------------------------------------------------------------------------------------------


def _coins_by_law(case: Case) -> Iterator[Verdict]:
    """Check the ε of randomized response against the largest log-ratio of a bit's probabilities under two rewards."""
    promise, p = case.promise, case.owner.chance(np.linspace(0.0, 1.0, 1001))
    with np.errstate(divide="ignore"):
        found = max(float(np.ptp(np.log(side))) for side in (p, 1.0 - p))
    check = "white box: the coins of any two rewards"
    yield Verdict(case.subject, check, promise.epsilon, found, "ε", promise=promise, least=promise.epsilon)


def _releases_by_law(case: Case) -> Iterator[Verdict]:
    """Check guarantees of `PrivateMeans` by the exact laws of its releases under a change of an arm's first reward."""
    for horizon in (3, 16, 100):
        counts = release_counts(case.owner.epsilon, case.owner.release_exponent, horizon).astype(float)
        costs = counts ** (-case.owner.release_exponent / 2)  # a shift of 1/n, in units of n^(v/2 − 1)
        for promise in stage(case, horizon, 2).promises:
            spent, what = (costs[:1], "a release") if promise.single_release else (costs, f"{len(costs)} releases")
            check = f"white box, {horizon} rounds: {what}"
            claimed, found, unit = promise.epsilon, float(spent.sum()), "ε"
            if promise.delta:
                pairs = [log_pair(Laplace(1 / cost), 1, 1) for cost in spent.tolist()]
                over = composed_delta(pairs, promise.epsilon * (1 + 1e-9), max(2e-4, promise.epsilon / 20_000))
                claimed, found, unit = promise.delta, max(over - 1e-9, 0.0), f"δ at ε = {promise.epsilon:.4g}"
            yield Verdict(case.subject, check, claimed, found, unit, promise=promise, least=promise.epsilon)


#: Parts whose guarantee has an exact law.
EXACT = {Mechanism: _mechanism, LocalBernoulli: _coins_by_law, PrivateMeans: _releases_by_law}


_STRETCH = 100
_POOLED, _LARGE = (2, 19, 64, 100, 1000), (10_000, 100_000)
_SHORT = (2, 2, 2, 2, 3, 5, 8, 2)
#: A reward between the ends that lies on no grid.
_BETWEEN = (math.sqrt(5) - 1) / 2
_AGENTS, _ROUNDS, _RUNS, _LONG = 5, 6, 9, 1500


# -- blocks of users --------------------------------------------------------------------------------------------------


def drawn_on_blocks(case: Case) -> Iterator[Verdict]:
    """Yield the verdicts of all checks of noise drawn on blocks, at the budget's values of ε."""
    grid, full, largest, runs = case.budget.grid, case.budget.full, case.budget.largest, max(3, case.budget.runs)
    for made in case.over(*full):
        if made.owner.noise == "exact":  # integer arithmetic only, user by user: slow
            yield from long_run(made, 24, 3)
            return
        yield from long_run(made, largest, runs)
        yield from _more_runs(made, largest, runs)
    for made in case.over(*(epsilon for epsilon in grid if epsilon not in full)) if case.make else ():
        yield from long_run(made, 64, max(3, runs // 4), every=3)


def long_run(case: Case, largest: int, runs: int, every: int = 1) -> Iterator[Verdict]:
    """Test the noise of blocks of all sizes up to `largest`, or of a random share 1/`every` of these sizes.

    Each size occurs eight times: four times in a row, and four times again.
    """
    rng = np.random.default_rng([case.budget.seed, 1])
    of = rng.permutation(np.arange(case.owner.smallest, largest + 1))[::every]
    sizes = np.concatenate([np.repeat(rng.permutation(of), 4) for _ in range(2)]).tolist()
    yield from drawn(case, f"{len(sizes):,} blocks", sizes, runs)


def _more_runs(case: Case, largest: int, runs: int) -> Iterator[Verdict]:
    """Test noise in further runs: with lost users, with random rewards (short runs), and with aggregate users.

    Short runs begin with equal blocks.  A dependence of the first noise on the random numbers of rewards blurs later,
    since the number of values that a draw takes from a generator varies.
    """
    rng, smallest = np.random.default_rng([case.budget.seed, 3]), case.owner.smallest
    some = [int(x * smallest) for x in (1, 1.5, 2.5, 4, 10, 16, 32) if x * smallest <= max(largest, 4 * smallest)]
    for i, where in enumerate(("before", "behind")):
        sizes = rng.permutation(np.repeat(some, 4)).tolist()
        yield from drawn(case, f"users lost {where} the mechanism", sizes, 20 * runs, i, where)
    yield from drawn(case, "own rewards", [max(n, smallest) for n in _SHORT], 100 * runs, how="own")
    for sizes, many in (((*_POOLED, *rng.integers(2, 400, 3).tolist()), 12 * runs), (_LARGE, 4 * runs)):
        known = [n for n in sizes if n >= smallest and planned_law(case.owner, n, n) is not None]
        if known:
            yield from drawn(case, f"pooled, up to n = {max(known)}", np.repeat(known, 4).tolist(), many, how="pooled")


def drawn(case: Case, what: str, sizes: Sequence[int], runs: int, turn: int = 0, how: str = "") -> Iterator[Verdict]:
    """Play blocks of `sizes` in this order, and yield verdicts on their noise and their decoded sums.

    A canary has reward 0 or another one, among a background.  If the noise is no integer, the reward in every fourth
    block may lie off the grid.  `turn`: index of several such runs, each with separate seeds.  `how`: as in `seen`; or
    ``"own"``: users draw 0 or 1 by the env's random numbers, and the first of a block is its canary.
    """
    own, pooled = how == "own", how == "pooled"
    seed, shape = case.budget.seed + turn, (len(sizes), runs, 1 if pooled else 2)
    rng, release = np.random.default_rng([seed, 2]), case.owner.release(sizes[0], sizes[0])
    kinds = rng.integers(len(BACKGROUNDS), size=shape[0])
    fine = release is not None and not release.law.integer and not own
    full = np.where(fine & (rng.random(shape[0]) < 0.25), _BETWEEN, 1.0)[:, None, None]
    bits = rng.random(shape) < 0.5
    at = [0 if own else place(k, n) for k, n in zip(kinds.tolist(), sizes, strict=True)]
    given: list[int | Array] = list(sizes)
    if not own and not pooled:
        given = [block(k, n, x) for k, n, x in zip(kinds.tolist(), sizes, full * bits, strict=True)]
    it = seen(case.env, given, runs, seed, how, shape[2])
    canary = np.zeros(shape) if pooled else np.array([x[..., i] for x, i in zip(it.earned, at, strict=True)])
    lost, canary = np.isnan(canary), np.nan_to_num(canary)
    # the mechanism of these runs, which knows their horizon
    mechanism, planned = it.env.mechanism, np.broadcast_to(np.array(sizes)[:, None, None], shape)
    noise = np.where(own & lost, np.nan, it.fields["reward"] - it.sums)  # rewards of lost users are unknown
    kept = np.unique(np.array([planned, it.left])[:, ~np.isnan(noise)], axis=1).T.tolist()
    parts, cost = [], np.full(shape, case.promise.epsilon)
    for n, k in kept:
        where = (planned == n) & (it.left == k) & ~np.isnan(noise)
        if planned_law(mechanism, n, k) is None:
            noise[where] = np.nan
        else:
            parts.append((where, partial(planned_law, mechanism, n, k)))
        if k < mechanism.sure(n):
            cost[where] = max(case.promise.epsilon, mechanism.price(n, k).epsilon)
    third = np.floor(3 * (it.sums - canary) / np.maximum(it.left, 1)).clip(0, 2)
    groups = _groups(it, np.array(sizes), own, third) | ({} if own else {"background": kinds, "most": full})
    bits, full = canary > 0 if own or pooled else bits, np.where(lost, 0.0, full)
    rewards = it.uniforms if own else None
    yield from Draws(case, f"drawn, {what}", noise, parts, rng, bits, cost, canary, full, groups, rewards).verdicts()
    if mechanism.planned(sizes[0]).wraps and "modulus" in it.env.sent_fields:
        yield _decoded(it, mechanism, sizes, case.subject, f"drawn, {what}")


def _groups(it: Seen, sizes: Array, own: bool, third: Array) -> dict[str, Array]:
    number, shape, all_of = np.arange(len(sizes)), it.sums.shape, sizes[:, None, None]
    groups = {"size": sizes, "arm": number % 2, "third of what others may earn": third}
    groups["server"] = np.broadcast_to(np.arange(shape[2]), shape)
    groups["share of users left"] = np.floor(4 * it.left / all_of)
    few = len(sizes) <= 32
    groups["place in the run" if few else "stretch of the run"] = number if few else number // _STRETCH
    if own:
        groups["random numbers of its rewards"] = 4 * number[:, None, None] + np.floor(4 * it.uniforms)
    return groups


def _decoded(it: Seen, mechanism: Mechanism, sizes: Sequence[int], subject: str, where: str) -> Verdict:
    """Check that no decoded sum exceeds the range of modulus and tail bound by more than one reward."""
    g, tau, modulus, _ = np.array([mechanism.numbered(n) for n in sizes]).T[..., None, None]
    steps = np.rint(it.fields["reward"] * g)
    top = it.left * g + tau  # up to one more reward, if it is rounded
    wrong = int(((steps > top + g) | (steps <= top - modulus - g)).sum())  # NaN counts as neither
    return Verdict(subject, f"{where}: sums decoded out of range", 0, wrong, "sums")


# -- agents on a graph ------------------------------------------------------------------------------------------------


def drawn_on_graph(case: Case) -> Iterator[Verdict]:
    """Test noise drawn on a graph, in long runs on prescribed rewards and in short runs on rewards of the env."""
    rng, means = np.random.default_rng([case.budget.seed, 9]), [0.5] * 3
    fine = not isinstance(case.owner, LocalBernoulli) and getattr(case.owner, "quantization_levels", None) is None
    full = np.where(fine & (rng.random((_LONG, 1, 1)) < 0.25), _BETWEEN, 1.0)
    given = list(full * (rng.random((_LONG, _RUNS, _AGENTS)) < 0.5))
    yield from _graph(stage(case, _LONG, _AGENTS, runs=_RUNS, means=means), "long runs", 0, full, given)
    own = stage(case, _ROUNDS, _AGENTS, runs=160 * _RUNS, rewards="bernoulli", means=means)
    yield from _graph(own, "own rewards", 1, np.ones(1))


def _graph(case: Case, what: str, turn: int, full: Array, given: list[Array] | None = None) -> Iterator[Verdict]:
    seed = case.budget.seed + turn
    it, rng = shown(case, around(), seed, given), np.random.default_rng([seed, 6])
    x = np.clip(it.earned, 0.0, 1.0)
    number, short = np.arange(len(x)), len(x) == _ROUNDS
    groups = {"agent": np.broadcast_to(np.arange(x.shape[2]), x.shape), "arm": it.arms, "reward": np.array(it.earned)}
    groups["round" if short else "stretch of the run"] = number if short else number // _STRETCH
    read = next(read for kind, read in KNOWN.items() if isinstance(case.owner, kind))(case.owner, it, x, full)
    rewards = (x + rng.random(x.shape)) / 2 if short else None
    yield from Draws(case, f"drawn, {what}", bits=x > 0, groups=groups, rewards=rewards, rng=rng, **read).verdicts()


def _reports(wrapper: LocalLaplace, it: Seen, x: Array, full: Array) -> Params:
    grid, epsilon = wrapper.quantization_levels, wrapper.epsilon
    noise = it.fields["reward"] - (x if grid is None else np.rint(x * grid) / grid)

    def law(times: float) -> Continuous | OnGrid:
        if grid is None:
            return Continuous(stats.laplace(scale=1 / (times * epsilon)).cdf, 1 / epsilon)
        b = grid / (times * epsilon)
        far = np.arange(-math.ceil(36 * b), math.ceil(36 * b) + 1)
        return OnGrid(DiscreteLaplace(b).pmf(far), int(far[0]), 0, grid)

    return {"noise": noise, "parts": [(~np.isnan(noise), law)], "moved": x, "full": full}


def _releases(wrapper: PrivateMeans, it: Seen, x: Array, full: Array) -> Params:
    """Return arguments of `Draws`: each released mean's noise, divided by the planned scale, and its law."""
    mine = it.arms[..., None] == np.arange(it.fields["mean"].shape[-1])
    n, sums = np.cumsum(mine, 0), np.cumsum(mine * x[..., None], 0)
    count, total, mean = (np.take_along_axis(v, it.arms[..., None], 3)[..., 0] for v in (n, sums, it.fields["mean"]))
    exponent = wrapper.release_exponent
    due, unit = np.isin(count, release_counts(wrapper.epsilon, exponent, len(x))), count ** (1 - exponent / 2)
    noise, one = np.where(due, (mean - total / count) * unit, np.nan), unit / count
    parts = [(~np.isnan(noise), lambda times: Continuous(stats.laplace(scale=1 / times).cdf))]
    return {"noise": noise, "parts": parts, "moved": x * one, "full": full * one}


def _coins(wrapper: LocalBernoulli, it: Seen, x: Array, full: Array) -> Params:
    """Return arguments of `Draws`: the reported bits, and their law at the guaranteed ε given each true reward."""
    bits, lean = it.fields["reward"], math.exp(-wrapper.epsilon)
    chances = {0.0: lean / (1.0 + lean), 1.0: 1.0 / (1.0 + lean)}
    laws = ((value, OnGrid(np.array([1 - p, p]), 0, 0, 1)) for value, p in chances.items())
    parts = [(~np.isnan(bits) & (x == value), lambda times, law=law: law) for value, law in laws]
    return {"noise": bits, "parts": parts, "coins": True}


#: Wrappers on a graph whose law is known, and how to read their draws.
KNOWN: dict[type, Callable[..., Params]] = {LocalBernoulli: _coins, LocalLaplace: _reports, PrivateMeans: _releases}
#: Parts whose draws are compared with their law.
DRAWN = {Mechanism: drawn_on_blocks, **dict.fromkeys(KNOWN, drawn_on_graph)}
