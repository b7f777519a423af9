"""Black box: a lower bound on ε from runs on neighbouring inputs, whatever a mechanism says of itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hushbandits.audits.blocks import background, seen
from hushbandits.audits.verdict import Verdict
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.types import Array
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.feedback.cohort import Individuals
from hushbandits.envs.feedback.env import Feedback
from hushbandits.privacy.audit import epsilon_lower_bound, learned_epsilon, one_run_p_value, smallest_refuted
from hushbandits.wrappers.local_dp import LocalDiscreteLaplace
from hushbandits.wrappers.mechanism import Mechanism

__all__ = ["black_box", "grid_bits", "judged", "one_run", "power", "verdicts"]

#: Events on a pair of blocks, fixed before any run: below the lighter input, above the heavier one, both alike.
_EVENTS: dict[str, Callable[[Array, Array], Array]] = {
    "z ≤ 0": lambda z, after: z <= 0,
    "z ≥ 1": lambda z, after: z >= 1,
    "z = z′": lambda z, after: z == after,
}


def power(epsilon: float, delta: float, samples: int, level: float) -> str:
    """What so many runs a side catch, in words.

    Examples
    --------
    >>> power(1.0, 0.0, 24_000, 1e-6), power(10.0, 0.0, 24_000, 1e-6)
    ('a true ε of 1.14', 'nothing: too few runs for so large an ε')
    """
    least = smallest_refuted(epsilon, delta, samples, level)
    return "nothing: too few runs for so large an ε" if math.isinf(least) else f"a true ε of {least:.3g}"


def judged(
    innocent: dict[str, Array], guilty: dict[str, Array], delta: float, level: float, groups: Array | None = None
) -> tuple[float, str]:
    """Return the ε that features ``(N,)`` of runs on two neighbours refute, by an event that half of the runs choose.

    Parameters
    ----------
    innocent, guilty : dict
        The same features of either side.
    groups : (N,) int, optional
        The runs' circumstances, the same on both sides: every feature is looked at in each group as well.
    """
    names = list(innocent)
    best = 0.0, ""
    kinds = np.unique(groups) if groups is not None else np.empty(0)
    parts: list[tuple[str, slice | Array]] = [("", slice(None))]
    parts += [(f" in background {kind}", groups == kind) for kind in kinds] if len(kinds) > 1 else []
    for where, part in parts:
        sides = [np.array([side[name][part] for name in names]) for side in (innocent, guilty)]
        bound, event = learned_epsilon(sides[0], sides[1], delta, level / len(parts))
        if bound > best[0]:
            f, _, rest = event.partition(" ")
            best = bound, f"{names[int(f)]} {rest}{where}"
    return best


def _bits(x: Array) -> Array:
    # trailing zeros of a double's mantissa: what its low-order bits tell
    whole = np.ascontiguousarray(x, float).view(np.int64) & ((1 << 52) - 1)
    low = whole & -whole
    return np.where(whole == 0, 52.0, np.log2(np.maximum(low, 1)))


def _pairs(
    wrappers: Sequence[Wrapper], reward: float, n: int, samples: int, seed: int, where: Sequence[tuple[str, str]]
) -> tuple[dict[str, Array], Array]:
    """Features of pairs of blocks: that of the user in question, and the next one; which background each had."""
    runs = min(-(-samples // len(where)), 200)
    rounds = -(-samples // (runs * len(where)))
    blocks, truth, groups = [], [], []
    for _ in range(rounds):
        for kind, (name, position) in enumerate(where):
            blocks += [background(name, n, position, reward), background(name, n, position, 0.0)]
            truth.append(background(name, n, position, 0.0).sum())
            groups += [kind] * runs
    _, fields = seen(wrappers, blocks, runs, seed)
    features: dict[str, Array] = {}
    for name, value in fields.items():
        base = np.array(truth)[:, None] if name == "reward" else 0.0
        value = np.where(np.isnan(value), -1e9, value)
        one, after = value[::2] - base, value[1::2] - base
        features[name], features[f"the next block's {name}"] = one.ravel(), after.ravel()
        if name == "reward":
            features["difference of two blocks"] = (one - after).ravel()
            features["lowest bit"] = _bits(value[::2]).ravel()
    return features, np.array(groups)


def black_box(
    wrappers: Sequence[Wrapper],
    epsilon: float,
    delta: float = 0.0,
    n: int = 64,
    samples: int = 24_000,
    level: float = 1e-6,
    seed: int = 0,
    subject: str = "",
    where: Sequence[tuple[str, str]] = (("zeros", "first"),),
    promise: Guarantee | None = None,
    bits: bool = True,
) -> Verdict:
    """Run a protocol on neighbouring blocks and bound its ε from below, whatever it claims.

    Parameters
    ----------
    wrappers : sequence of Wrapper
        The protocol, as an env would carry it.
    epsilon, delta : float
        The claim.
    n : int
        Users per block.
    samples : int
        Runs a side: 880 catch a mechanism that is two times off at ε = 1, 24,000 at ε = .1.
    level : float
        Probability of rejecting an honest mechanism, shared by all events and both directions.
    where : sequence of (background, position)
        What the others earn and where the user stands; the runs are shared out among them.
    bits : bool
        Whether to look at a sum's lowest bit.

    Notes
    -----
    The largest bound over three events fixed before any run, and over one that half of the runs choose among all
    features of all that is seen (the pair's sums, their difference, numbers of users, bits, what else is sent), in
    every background by itself and in all together; δ enters each.
    """
    (low, groups), (high, _) = (_pairs(wrappers, r, n, samples, seed + int(r), where) for r in (0.0, 1.0))
    # a field that is one constant on both sides tells nothing
    telling = [k for k in low if np.ptp(low[k]) or np.ptp(high[k]) or low[k][0] != high[k][0]]
    names = [k for k in telling if bits or k != "lowest bit"]
    kept = dict.fromkeys(["reward", "difference of two blocks", *names])
    low, high = ({k: side[k][:samples] for k in kept} for side in (low, high))
    groups = groups[:samples]
    worst, told = judged(low, high, delta, level / 2, groups)
    for name, event in _EVENTS.items():
        count = [int(event(s["reward"], s["reward"] - s["difference of two blocks"]).sum()) for s in (low, high)]
        for hits, others in (count, count[::-1]):
            bound = epsilon_lower_bound(hits, others, len(groups), delta, level / 2 / (2 * len(_EVENTS)))
            worst, told = max((worst, told), (bound, name))
    check = f"black box, {len(groups):,} runs a side, n = {n}" + (f" ({told})" if told else "")
    caught = power(epsilon, delta, len(groups), level / 12)
    return Verdict(subject or wrappers[0].name, check, epsilon, worst, "ε", caught, level, promise)


def grid_bits(wrappers: Sequence[Wrapper], n: int, runs: int = 400, seed: int = 0) -> tuple[int, int]:
    """How many decoded sums lie off the grid of 1/g of an integer-coded protocol, and of how many."""
    blocks = [background(kind, n, "last", reward) for kind in ("zeros", "mixed", "ones") for reward in (0.0, 1.0)]
    env, fields = seen(wrappers, blocks, runs, seed)
    mechanism = env.mechanism
    assert isinstance(mechanism, Mechanism)
    steps = (fields["reward"] + n * getattr(mechanism.planned(n).noise, "mean", 0.0)) * mechanism.planned(n).g
    steps = steps[~np.isnan(steps)]
    # what division and multiplication by g may round: an ulp or two
    off = np.abs(steps - np.rint(steps)) > 4 * np.spacing(np.maximum(np.abs(steps), n * 1.0))
    return int(off.sum()), steps.size


def one_run(mechanism: LocalDiscreteLaplace, users: int = 20_000, level: float = 1e-6, seed: int = 0) -> Verdict:
    """One-run audit of a local mechanism: every user holds a random bit, and an observer guesses them all.

    Measured is the smallest ε that `level` does not refute.
    """
    env = Feedback(users="each", means=(0.0, 1.0), rewards="bernoulli", wrappers=[mechanism], horizon=users)
    env.reset(seed)
    (own,) = env.wrappers
    assert isinstance(own, LocalDiscreteLaplace)
    bits = np.random.default_rng(seed).integers(2, size=users)
    # Blocks of one: a message stands for itself.
    crowd = Individuals(bits.astype(float)[:, None, None], np.ones((users, 1), int))
    own._rngs = own._rngs * users
    message = own.send(env.payload(reward=crowd, n=crowd.planned), env)["reward"]
    plan = own.planned(1)
    y = np.array([message.messages(u, 0)[0] for u in range(users)])
    z = np.where(y > plan.g + plan.tau, y - plan.modulus, y)
    correct = int(((2 * z > plan.g) == (bits == 1)).sum())
    low, high = 0.0, 50.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if one_run_p_value(correct, users, middle) < level else (low, middle)
    return Verdict(own.name, f"one run, {users:,} users", own.epsilon, low, level=level)


def verdicts(
    wrappers: Sequence[Wrapper],
    promise: Guarantee,
    sizes: Sequence[int],
    samples: int,
    level: float,
    seed: int,
    subject: str,
    where: Sequence[tuple[str, str]],
    bits: bool,
) -> Iterator[Verdict]:
    """`black_box` at several block sizes."""
    for i, n in enumerate(sizes):
        yield black_box(
            wrappers, promise.epsilon, promise.delta, n, samples, level, seed + 2 * i, subject, where, promise, bits
        )
