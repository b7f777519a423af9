"""Checks of secure functions: they must hide senders, the order of messages, and sums over too few senders."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from hushbandits.audits.cases import Budget, Verdict, fits
from hushbandits.audits.play import Prescribed, Tap, around, rounds, seen
from hushbandits.core import Array, Env, Wrapper
from hushbandits.envs.feedback.env import Feedback
from hushbandits.privacy.audit import critical_share
from hushbandits.registry import make_batched, make_team
from hushbandits.wrappers.loss import Loss


def routes(make: Callable[..., Wrapper], subject: str, kind: str, budget: Budget) -> Iterator[Verdict]:
    """Yield verdicts on what a secure function of this `kind` must hide, in each setting that accepts the function."""
    if kind == "SecAgg":
        yield from _cohorts(make, subject, min(budget.samples // 3, 400), budget.seed)
    yield from _windows(make, subject, min(budget.samples // 3, 200), budget.seed)
    if kind == "Shuffle":
        yield from _order(make(), subject, budget.samples // 3, budget.level, budget.seed)


def _order(shuffle: Wrapper, subject: str, runs: int, level: float, seed: int) -> Iterator[Verdict]:
    """Yield verdicts on whether messages arrive without sender fields, in a uniform order independent of rewards."""
    names = (np.arange(4) + 1) / 5
    if fits(partial(make_batched, "CoopNetwork-v0"), shuffle):
        env, places = _group(runs, 4, [shuffle]), []
        for given in (names, names[::-1]):
            (played,) = rounds(env, around(), seed, [given])
            places.append(np.rint(played.inbox["reward"][:, 0] * 5).astype(int) - 1)
        yield _uniform("order, network", places[0], subject, level)
        changed = int((places[0] != 3 - places[1]).sum())
        yield Verdict(subject, "order, network: places that rewards change", 0, changed, "messages")
        yield Verdict(subject, "network: fields that name senders", 0, float("sender" in env.inbox_fields), "fields")
    if fits(Feedback, shuffle):
        (users,) = seen(Feedback(simulate_users="individual", wrappers=[shuffle]), [names], runs, seed).users
        yield _uniform("order, users of a block", np.rint(users[:, 0] * 5).astype(int) - 1, subject, level)


def _uniform(check: str, places: Array, subject: str, level: float) -> Verdict:
    """Return a verdict on whether each sender is equally often in each slot.

    ``places (R, S)`` holds the sender in each slot of each run.
    """
    kinds, size = np.unique(places), places.shape[1]
    most = max(float(np.mean(places[:, slot] == who)) for slot in range(size) for who in kinds)
    share = critical_share(1 / len(kinds), len(places), level / len(kinds) / size)
    return Verdict(subject, check, share, most, "share", f"one sender in one place in {1.1 * share:.0%}", level)


def _group(runs: int, n: int, wrappers: list[Wrapper]) -> Env:
    """Return a network env of `n` agents on a complete graph, with prescribed rewards."""
    settings = {"n_agents": n, "graph": "complete", "means": [0.5, 0.5], "rewards": Prescribed(), "horizon": 12}
    return make_batched("CoopNetwork-v0", runs, wrappers=wrappers, **settings)


def _cohorts(make: Callable[..., Wrapper], subject: str, runs: int, seed: int) -> Iterator[Verdict]:
    """Check that each released sum is over at least `min_cohort` users of a block, or messages of a round."""
    least = 5
    env = Feedback(simulate_users="individual", wrappers=[make(min_cohort=least)])
    fields = seen(env, [np.ones(8)] * 20, runs, seed, "before").fields
    left = fields["message's users left"]
    answered = (fields["arrived"] > 0) | (np.nan_to_num(fields["reward"]) != 0) | (fields["n"] > 0)
    # the survivors after aggregation are 0 in a closed block: count the users that were there by the sum of ones
    small = answered & (np.where(left > 0, left, np.nan_to_num(fields["reward"])) < least)
    yield Verdict(subject, f"blocks of fewer than {least} users opened", 0, int(small.sum()), "blocks")
    n, least = 5, 3
    core = _group(runs, n, [Loss(0.5), Tap(name="audit: tap"), make(min_cohort=least)])
    opened = 0
    for played in rounds(core, around(), seed, [np.ones(n)] * 10):
        sent = next(w for w in core.wrappers if isinstance(w, Tap)).message["sent"]
        heard = sent.sum(1, keepdims=True) - sent
        pulls, sums = played.inbox.tally()
        answered = played.inbox.arrived[:, :, 0] | (pulls != 0).any(2) | (sums != 0).any(2)
        opened += int((answered & (heard < least)).sum())
    yield Verdict(subject, f"rounds of fewer than {least} messages opened", 0, opened, "rounds")


def _windows(make: Callable[..., Wrapper], subject: str, runs: int, seed: int) -> Iterator[Verdict]:
    """Check that each released sum of votes is over at least `min_cohort` agents."""
    least, window = 3, 2
    wrappers = [make(batch_window=window, min_cohort=least), Tap(name="audit: tap")]
    core = make_batched("DPMASE-v0", runs, n_agents=6, threshold=100, horizon=80, wrappers=wrappers)
    acted = np.zeros((runs, 6), bool)
    alone = 0
    for played in rounds(core, make_team("Random", rate=0.2), seed):
        acted[np.arange(runs), played.acting[:, 0]] = True
        message = next(w for w in core.wrappers if isinstance(w, Tap)).message
        answered = (message["tally"] if "tally" in message else message["vote"]).any((1, 2))
        alone += int((answered & (acted.sum(1) < least)).sum())
        acted[answered] = False
    yield Verdict(subject, f"votes of fewer than {least} agents opened", 0, alone, "windows")
