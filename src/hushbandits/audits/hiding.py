"""Secure functions: what they must hide is not there, neither by name, nor by order, nor in a small cohort."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from hushbandits.audits.beats import Around, Blocks, Tap, rounds
from hushbandits.audits.blocks import background, seen
from hushbandits.audits.cases import Budget, fits
from hushbandits.audits.told import Told
from hushbandits.audits.verdict import Verdict
from hushbandits.core.env import Env
from hushbandits.core.ground.types import Array, Seeds
from hushbandits.core.obs import Obs
from hushbandits.core.payload import Payload
from hushbandits.core.team import Team
from hushbandits.core.world import World
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.feedback.cohort import Individuals
from hushbandits.envs.feedback.env import Feedback
from hushbandits.privacy.audit import critical_share
from hushbandits.registry import make_core
from hushbandits.wrappers.loss import Loss

__all__ = ["routes"]

#: What makes a wrapper, given its parameters.
_Make = Callable[..., Wrapper]


def routes(make: _Make, subject: str, kind: str, budget: Budget) -> Iterator[Verdict]:
    """All that a secure function of this kind must hide, in every setting that takes it."""
    if kind == "SecAgg":
        yield from _cohorts(make, subject, min(budget.samples // 3, 400), budget.seed)
    yield from _windows(make, subject, min(budget.samples // 3, 200), budget.seed)
    if kind == "Shuffle":
        yield from _order(make(), subject, budget.samples // 3, budget.level, budget.seed)


def _order(shuffle: Wrapper, subject: str, runs: int, level: float, seed: int) -> Iterator[Verdict]:
    """Check that messages come in a uniform order, without their senders, and in one that no reward changes."""
    if fits(partial(make_core, "CoopNetwork-v0"), shuffle):
        for name, loss in (("network", 0.0), ("network with failing edges", 1e-9)):
            places = [_places(shuffle, runs, seed, values, loss) for values in (_names(4), _names(4)[::-1])]
            yield _uniform(f"order, {name}", places[0], subject, level)
            changed = int((places[0] != 3 - places[1]).sum())
            yield Verdict(subject, f"order, {name}: places that rewards change", 0, changed, "messages")
            env = make_core("CoopNetwork-v0", n_agents=4, wrappers=[shuffle], edge_loss=loss)
            yield Verdict(
                subject, f"{name}: fields that name senders", 0, float("sender" in env.inbox_fields), "fields"
            )
    if fits(Feedback, shuffle):
        yield _uniform("order, users of a block", _users(shuffle, runs, seed), subject, level)


def _names(n: int) -> Array:
    return (np.arange(n) + 1) / (n + 1)


def _uniform(check: str, places: Array, subject: str, level: float) -> Verdict:
    """Whether every sender stands in every place equally often: ``places (…, S)`` has the sender of each slot."""
    size = places.shape[-1]
    flat = places.reshape(-1, size)
    counts = [np.mean(flat[:, slot] == who) * 1.0 for slot in range(size) for who in np.unique(flat)]
    kinds = len(np.unique(flat))
    share = critical_share(1 / kinds, len(flat), level / len(counts))
    return Verdict(
        subject, check, share, float(max(counts)), "share", f"one sender in one place in {1.1 * share:.0%}", level
    )


def _graph(runs: int, n: int, wrappers: list[Wrapper], **more: Any) -> Env:
    """Agents who all hear each other, and earn what they are told."""
    return make_core(
        "CoopNetwork-v0", runs, n_agents=n, graph="complete", means=[0.5, 0.5], rewards=Told(), horizon=12,
        wrappers=wrappers, **more,
    )  # fmt: skip


def _places(shuffle: Wrapper, runs: int, seed: int, values: Array, edge_loss: float) -> Array:
    # who stands where in the inbox of the first agent; rewards tell
    n = len(values)
    (played,) = rounds(_graph(runs, n, [shuffle], edge_loss=edge_loss), Around(), seed, [values])
    return np.rint(played.inbox["reward"][:, 0] * (n + 1)).astype(int) - 1


def _users(shuffle: Wrapper, runs: int, seed: int) -> Array:
    class Names(Wrapper):
        def send(self, message: Payload, env: World) -> Payload:
            x = np.broadcast_to(_names(3), (*message["n"].shape, 3)).copy()
            return message.but(reward=Individuals(x, message["n"]))

    core = Feedback(users="each", runs=runs, horizon=3, wrappers=[Names(), shuffle])
    (played,) = rounds(core, Blocks([(0, 3)]), seed)
    return np.rint(played.inbox["users"][:, 0, 0] * 4).astype(int) - 1


def _cohorts(make: _Make, subject: str, runs: int, seed: int) -> Iterator[Verdict]:
    """Check that nothing of a cohort below `min_cohort` is opened: users of a block, arrivals of a round."""
    least = 5
    fields = seen([make(min_cohort=least)], [background("ones", 8)] * 20, runs, seed, loss=("before", 0.5)).fields
    left = fields["message's users left"]
    told = (fields["arrived"] > 0) | (np.nan_to_num(fields["reward"]) != 0) | (fields["n"] > 0)
    # what is left after sealing is 0 where it is closed: users that were there are counted by the sum of ones
    small = told & (np.where(left > 0, left, np.nan_to_num(fields["reward"])) < least)
    yield Verdict(subject, f"blocks of fewer than {least} users opened", 0, int(small.sum()), "blocks")
    n, least = 5, 3
    tap = Tap(name="audit: tap")
    core = _graph(runs, n, [Loss(0.5), tap, make(min_cohort=least)])
    opened = 0
    for played in rounds(core, Around(), seed, [np.ones(n)] * 10):
        sent = next(w for w in core.wrappers if isinstance(w, Tap)).message["sent"]
        heard = sent.sum(1, keepdims=True) - sent
        pulls, sums = played.inbox.tally()
        told = played.inbox.arrived[:, :, 0] | (pulls != 0).any(2) | (sums != 0).any(2)
        opened += int((told & (heard < least)).sum())
    yield Verdict(subject, f"rounds of fewer than {least} messages opened", 0, opened, "rounds")


class _Voter(Team):
    """Votes at random."""

    setting = "exploration"

    def reset(self, env: World, seeds: Seeds) -> None:
        self._rng, self._k = np.random.default_rng(0), env.n_arms

    def act(self, obs: Obs) -> Array:
        return np.ones((*obs.who.shape, self._k), bool)

    def speak(self, reward: Array) -> dict[str, Array]:
        return {"vote": self._rng.random((len(reward), 1, self._k)) < 0.2}


def _windows(make: _Make, subject: str, runs: int, seed: int) -> Iterator[Verdict]:
    """Check that votes are summed over at least `min_cohort` different agents, and that no ballot stands alone."""
    least, window = 3, 2
    tap = Tap(name="audit: tap")
    core = make_core(
        "DPMASE-v0", runs, n_agents=6, threshold=100, horizon=80,
        wrappers=[make(window=window, min_cohort=least), tap],
    )  # fmt: skip
    acted = np.zeros((runs, 6), bool)
    alone = 0
    for played in rounds(core, _Voter(), seed):
        acted[np.arange(runs), played.acting[:, 0]] = True
        message = next(w for w in core.wrappers if isinstance(w, Tap)).message
        told = message["tally"].any((1, 2)) if "tally" in message else message["vote"].any((1, 2))
        alone += int((told & (acted.sum(1) < least)).sum())
        acted[told] = False
    yield Verdict(subject, f"votes of fewer than {least} agents opened", 0, alone, "windows")
