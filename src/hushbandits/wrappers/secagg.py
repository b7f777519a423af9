"""Ideal secure aggregation: a modular sum, and nothing else.

What is added up depends on the setting: one channel per setting, in one table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from hushbandits.envs.feedback.cohort import BlockInbox, Cohort
from hushbandits.core.world import World
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.messages import LARGEST, Field, Fields, Inbox, require
from hushbandits.envs.network.slots import TallyInbox
from hushbandits.core.types import Array, Seeds
from hushbandits.core.validate import integer, real
from hushbandits.envs.exploration.window import VoteWindow
from hushbandits.core.wrapper import Wrapper

__all__ = ["SecAgg"]

_ROOM = 1 << 62  # sums of residues are reduced after they are added


class _Channel(Protocol):
    """What `SecAgg` does in one setting."""

    def accept(self, fields: Fields, env: World) -> Fields: ...

    def reset(self, env: World, seeds: Seeds) -> None: ...

    def send(self, message: dict[str, Any], env: World) -> dict[str, Any]: ...

    def deliver(self, inbox: Inbox, env: World) -> Inbox: ...


class _Feedback:
    """A block of users: the sum mod m of their messages."""

    def __init__(self, wrapper: SecAgg):
        self._wrapper = wrapper

    def accept(self, fields: Fields, env: World) -> Fields:
        require(self._wrapper.name, ("reward", "n"), fields)
        self._encodes = "modulus" not in fields  # no mechanism before it: raw rewards
        if self._encodes:
            self._wrapper.room("a block of n users up to horizon", env.horizon, env.horizon * self._wrapper.grid + 1)
        sealed = {k: f for k, f in fields.items() if k != "users"}
        return {**sealed, "reward": Field(dtype="i8"), "modulus": Field(dtype="i8")}

    def reset(self, env: World, seeds: Seeds) -> None:
        self._rngs = self._wrapper.generators(seeds)

    def send(self, message: dict[str, Any], env: World) -> dict[str, Any]:
        crowd: Cohort = message["reward"]
        if self._encodes:
            grid = self._wrapper.grid
            crowd = crowd.encode(np.full(crowd.planned.shape, grid), self._rngs)
            modulus = crowd.planned * grid + 1
            message = {**message, "modulus": modulus, "bits": _bits(modulus)}
        keep = message["sent"] & (crowd.n >= self._wrapper.min_cohort)
        sealed = crowd.seal(crowd.total() % message["modulus"], keep, self._wrapper.name)
        return {**message, "reward": sealed, "sent": keep}

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        if not self._encodes:
            return inbox
        assert isinstance(inbox, BlockInbox)
        return inbox.decoded(inbox.total("reward") / self._wrapper.grid)


class _Network:
    """A receiver's arrivals of a round: the sum mod m of their codes, one-hot in the arm."""

    def __init__(self, wrapper: SecAgg):
        self._wrapper = wrapper

    def accept(self, fields: Fields, env: World) -> Fields:
        name = self._wrapper.name
        require(name, ("arm", "reward"), fields)
        self._k = env.n_arms
        self._arrivals: int = env.most_arrivals  # type: ignore[attr-defined]
        # Large enough that an honest sum of all arrivals, of either sign, never wraps.
        step = math.ceil(self._wrapper.grid * self._wrapper.bound)
        self._modulus = 2 * self._arrivals * step + 1
        self._wrapper.room("an agent that hears up to", self._arrivals, self._arrivals * self._modulus)
        return {"code": Field((2 * self._k,), "i8", low=0, high=self._modulus - 1)}

    def reset(self, env: World, seeds: Seeds) -> None:
        w = self._wrapper
        degree: Array = env.slots.degree  # type: ignore[attr-defined]
        if (degree < w.min_cohort).any():
            m = int(np.argwhere(degree < w.min_cohort)[0][1])
            raise ValueError(
                f"min_cohort={w.min_cohort} leaves agent {m} with nothing: it hears {int(degree[:, m].min())} others"
            )

    def send(self, message: dict[str, Any], env: World) -> dict[str, Any]:
        w, arm, sent = self._wrapper, message["arm"], message["sent"]
        reward = np.where(sent, message["reward"], 0.0)
        if not (np.abs(reward) <= w.bound).all():  # the value itself is somebody's secret
            r, m = np.argwhere(~(np.abs(reward) <= w.bound))[0].tolist()
            raise ValueError(
                f"{w.name} encodes rewards up to bound={w.bound:g}, and agent {m} of run {r} reports a larger one; "
                f"give it a larger bound"
            )
        hot = np.arange(self._k) == arm[..., None]
        code = np.concatenate([hot, hot * np.rint(reward * w.grid)[..., None].astype(np.int64)], 2) % self._modulus
        return {"code": code, "sent": sent}

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        m = self._modulus
        total = inbox.total("code") % m
        # The minimum is of what is opened: an arm with fewer contributions looks like one with none.
        opened = total[..., : self._k] >= self._wrapper.min_cohort
        lifted = np.where(total > m // 2, total - m, total)
        pulls = np.where(opened, lifted[..., : self._k], 0).astype(float)
        sums = np.where(opened, lifted[..., self._k :] / self._wrapper.grid, 0.0)
        return TallyInbox(pulls, sums, opened.any(2))


class _Exploration:
    """The votes of a window of activations: their sum per arm."""

    def __init__(self, wrapper: SecAgg):
        self._wrapper = wrapper

    def accept(self, fields: Fields, env: World) -> Fields:
        w = self._wrapper
        self._votes = VoteWindow(w.name, w.window, w.min_cohort, env)
        return self._votes.accept(w.name, fields, env)

    def reset(self, env: World, seeds: Seeds) -> None:
        self._votes.reset(env, len(seeds))

    def send(self, message: dict[str, Any], env: World) -> dict[str, Any]:
        # An agent votes once per arm, so a sum never reaches the modulus N + 1.
        return {"tally": self._votes.add(message, env) % (env.n_agents + 1), "sent": message["sent"]}

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        return inbox


def _bits(modulus: Array) -> Array:
    return np.array([[(m - 1).bit_length() for m in row] for row in modulus.tolist()])


#: What `SecAgg` adds up, by setting.
_CHANNELS: dict[str, Callable[[SecAgg], _Channel]] = {
    "exploration": _Exploration,
    "feedback": _Feedback,
    "network": _Network,
}


class SecAgg(Wrapper):
    """An ideal secure aggregation between senders and receivers: they get ``Σ y mod m`` and nothing else.

    Feedback: adds a block's messages up; a mechanism before it names the modulus, raw rewards are encoded on a
    fixed-point grid here.  Network: each receiver gets, of what arrives in a round, the pulls and reward sums per
    arm (codes one-hot in the arm, rewards rounded to the grid), so the inbox has a `tally` and nothing else.
    Exploration: the coordinator gets the votes per arm of a window of activations.
    A cohort smaller than `min_cohort` reveals nothing at all: in feedback its messages are lost, in exploration the
    window stays open, and in network, where a cohort is those who report one arm to one receiver in one round, the arm
    looks as if nobody had pulled it.

    Parameters
    ----------
    min_cohort : int
        Fewest messages that are added up, ≥ 2: the sum of one message is the message.
    grid : int
        Fixed-point steps per unit reward where no mechanism has encoded rewards.
    bound : float
        Network: the largest reported |reward| that the modulus makes room for; a larger one raises.
    window : int, optional
        Exploration only, and needed there: activations per sum.
    name : str, optional

    References
    ----------
    Bonawitz et al. 2017 (the protocol that this idealises).

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_core("DistDP-v0", users="each")
    >>> env.inbox_fields.keys()
    dict_keys(['reward', 'n'])
    """

    settings = frozenset(_CHANNELS)
    aggregates = True

    def __init__(
        self,
        min_cohort: int = 2,
        grid: int = 1 << 16,
        bound: float = 1.0,
        window: int | None = None,
        *,
        name: str | None = None,
    ):
        super().__init__(name=name)
        self.bound = real("bound", bound, 0, LARGEST)
        self.window = window
        self.min_cohort = integer("min_cohort", min_cohort, 2)
        self.grid = integer("grid", grid, 1, 1 << 30)

    def room(self, what: str, n: int, most: int) -> None:
        """Raise ``ValueError`` unless `most`, what n messages may add up to, fits into 64 bits with room to spare."""
        if most >= _ROOM:
            raise ValueError(
                f"{self.name} with grid={self.grid} and bound={self.bound:g}: {what} {n} adds up to {most:.3g}, "
                f"and sums must stay below 2^62 = {_ROOM:.3g}; give it a smaller grid"
            )

    def accept(self, fields: Fields, env: World) -> Fields:
        """Hide the individuals."""
        self._channel: _Channel = _CHANNELS[env.setting](self)
        return self._channel.accept(fields, env)

    def reset(self, env: World, seeds: Seeds) -> None:
        """Open the tape."""
        self._channel.reset(env, seeds)

    def send(self, message: dict[str, Any], env: World) -> dict[str, Any]:
        """Add up."""
        return self._channel.send(message, env)

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        """Decode what was encoded here."""
        return self._channel.deliver(inbox, env)

    def promises(self, env: World) -> tuple[Guarantee, ...]:
        """Hides messages among their cohort; the sum itself is not noised here."""
        cohort = "of one arm, to one receiver in one round" if env.setting == "network" else "that are added up"
        between = (
            "receivers do not pool their sums: cohorts of neighbours overlap, and the difference of two sums that differ "
            "in one sender is its message",
            "nobody in a cohort gives its own message away: those of min_cohort − 1 others leave one",
        )
        return (
            Guarantee(
                mechanism=f"ideal modular sum over at least {self.min_cohort} messages {cohort}",
                epsilon=float("inf"),
                delta=0.0,
                adjacency="any two sets of messages with the same sum",
                view="the receiver: the sum; it learns nothing else, and all of the sum",
                assumptions=("an ideal functionality: no collusion, no cryptography", *between),
                source="Bonawitz et al. 2017",
            ),
        )
