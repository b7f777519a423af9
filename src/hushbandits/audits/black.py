"""Black box: a lower bound on ε from runs on neighbouring inputs, whatever a mechanism says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hushbandits.audits.blocks import Seen, background, seen
from hushbandits.audits.events import ABOVE, BEYOND, bounded, judged
from hushbandits.audits.verdict import Verdict
from hushbandits.core.env import Env
from hushbandits.core.ground.types import Array
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.feedback.env import Feedback
from hushbandits.privacy.audit import epsilon_lower_bound, smallest_refuted
from hushbandits.wrappers.mechanism import Mechanism

__all__ = ["Change", "black_box", "grid_bits", "neighbours"]

#: Events on a pair of blocks, fixed before any run: below the lighter input, above the heavier one, both alike.
_EVENTS: dict[str, Callable[[Array, Array], Array]] = {
    "z ≤ 0": lambda z, after: z <= 0,
    "z ≥ 1": lambda z, after: z >= 1,
    "z = z′": lambda z, after: z == after,
}
#: Blocks of an episode: the user in question is in the first; or in all of them, where all of its rewards differ.
_BLOCKS, _ALL = 2, 3


def _bits(x: Array) -> Array:
    # trailing zeros of a double's mantissa: what its low-order bits tell
    whole = np.ascontiguousarray(x, float).view(np.int64) & ((1 << 52) - 1)
    low = whole & -whole
    return np.where(whole == 0, 52.0, np.log2(np.maximum(low, 1)))


def _episodes(
    wrappers: Sequence[Wrapper],
    reward: float,
    n: int,
    samples: int,
    seed: int,
    where: Sequence[tuple[str, str]],
    every: bool,
    loss: tuple[str, float] | None,
    kind: type[Env],
) -> tuple[dict[str, Array], Array]:
    length = _ALL if every else _BLOCKS
    runs = min(-(-samples // len(where)), 500)
    again = -(-samples // (runs * len(where)))
    blocks, groups, places = [], [], []
    for _ in range(again):
        for group, (name, position) in enumerate(where):
            for b in range(length):
                blocks.append(background(name, n, position, reward if every or not b else 0.0))
            groups += [group] * runs
            places.append(int(np.flatnonzero(background("zeros", n, position, 1.0))[0]))
    it = seen(wrappers, blocks, runs, seed, loss=loss, kind=kind)
    return _features(it, np.array([b.sum() for b in blocks]), places, reward, length), np.array(groups)


def _features(it: Seen, truth: Array, places: Sequence[int], reward: float, length: int) -> dict[str, Array]:
    features: dict[str, Array] = {}
    firsts = range(length)
    for name, value in it.fields.items():
        x = value[..., 0].astype(float)
        if name == "reward":
            features["lowest bit"] = _bits(x[::length]).ravel()
            base = np.repeat([truth[i] - reward for i in range(0, len(truth), length)], length)  # what others earn
            x = x - base[:, None]
        parts = [x[b::length].ravel() for b in firsts]
        for b, part in enumerate(parts):
            features[name if not b else f"{name}, {b} later"] = part
            if name == "reward" and b:
                features[f"difference of two blocks, {b} later"] = parts[0] - part
    if it.users:  # a message by itself, where nobody hides it
        at = [it.users[i * length][:, 0, place] for i, place in enumerate(places)]
        features["the user's message"] = np.concatenate(at)
        if it.users[0].shape[2] > 1:
            beside = [it.users[i * length][:, 0, place - 1] for i, place in enumerate(places)]
            features["the user's message less another's"] = features["the user's message"] - np.concatenate(beside)
    return features


@dataclass(frozen=True)
class Change:
    """What two neighbours differ in: a reward on either side, of one block of an episode or of `every` one."""

    words: str = ""
    values: tuple[float, float] = (0.0, 1.0)
    every: bool = False


def neighbours(promise: Guarantee) -> Iterator[Change]:
    """What the adjacency makes neighbours.

    A participant whose run has one reward is met once; unless a promise says so, participants come back.
    """
    run, whole = promise.run, promise.adjacency.replaced == "participant"
    every = whole and (run is None or run.times > 1)
    ends = promise.adjacency.low, promise.adjacency.high
    yield Change("all rewards of a user" if every else "a reward", ends, every)
    yield Change(ABOVE, BEYOND, every)


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
    change: Change = Change(),
    loss: tuple[str, float] | None = None,
    kind: type[Env] = Feedback,
) -> Verdict:
    """Run a protocol on neighbouring blocks and bound its ε from below, whatever it claims.

    Parameters
    ----------
    wrappers : sequence of Wrapper
        The protocol, as an env would carry it.
    epsilon, delta, n : float, float, int
        The claim, and users per block.
    samples : int
        Runs a side: 880 catch a mechanism that is two times off at ε = 1, 24,000 at ε = .1.
    level : float
        Probability of rejecting an honest mechanism, shared by all events and both directions.
    where : sequence of (background, position)
        What the others earn and where the user stands; the runs are shared out among them.
    bits : bool
        Whether to look at a sum's lowest bit.
    change : Change
        What differs.
    loss : (str, float), optional
        Where users get lost, and how many.
    kind : type
        The env's class, if it reports more than rewards.

    Notes
    -----
    The largest bound over three events fixed before any run, and over one that half of the runs choose among all
    features of all that is seen (`events.judged`), in every background by itself and in all together; δ enters each.
    """
    (low, groups), (high, _) = (
        _episodes(wrappers, r, n, samples, seed + i, where, change.every, loss, kind)
        for i, r in enumerate(change.values)
    )
    kept = [k for k in low if bits or k != "lowest bit"]
    low, high = ({k: side[k][:samples] for k in kept} for side in (low, high))
    groups = groups[:samples]
    worst, told, varies = _largest(low, high, groups, delta, level)
    lost = f", users lost {loss[0]} it" if loss else ""
    check = f"black box, {change.words}{', ' if change.words else ''}{len(groups):,} runs a side, n = {n}{lost}"
    smallest = smallest_refuted(epsilon, delta, len(groups), level / 12)
    check += f" ({told})" if told else ""
    return bounded(subject or wrappers[0].name, check, epsilon, worst, smallest, level, promise, varies)


def _largest(
    low: dict[str, Array], high: dict[str, Array], groups: Array, delta: float, level: float
) -> tuple[float, str, bool]:
    worst, told = judged(low, high, delta, level / 2, groups)
    varies = bool(told)
    for name, event in _EVENTS.items():
        count = [int(event(s["reward"], s["reward, 1 later"]).sum()) for s in (low, high)]
        for hits, others in (count, count[::-1]):
            bound = epsilon_lower_bound(hits, others, len(groups), delta, level / 2 / (2 * len(_EVENTS)))
            if bound > worst:
                worst, told = bound, name
    return worst, told, varies


def grid_bits(wrappers: Sequence[Wrapper], n: int, runs: int = 400, seed: int = 0) -> tuple[int, int]:
    """How many decoded sums lie off the grid of 1/g of an integer-coded protocol, and of how many."""
    blocks = [background(kind, n, "last", reward) for kind in ("zeros", "mixed", "ones") for reward in (0.0, 1.0)]
    it = seen(wrappers, blocks, runs, seed)
    mechanism = it.env.mechanism
    assert isinstance(mechanism, Mechanism)
    steps = (it.fields["reward"] + n * getattr(mechanism.planned(n).noise, "mean", 0.0)) * mechanism.planned(n).g
    steps = steps[~np.isnan(steps)]
    # what division and multiplication by g may round: an ulp or two
    off = np.abs(steps - np.rint(steps)) > 4 * np.spacing(np.maximum(np.abs(steps), n * 1.0))
    return int(off.sum()), steps.size
