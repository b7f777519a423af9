"""Run a feedback protocol on rewards that are told, and write down all that an observer sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hushbandits.core.payload import Payload
from hushbandits.core.types import Array, Seeds
from hushbandits.core.world import World
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.feedback.cohort import BlockInbox, Individuals
from hushbandits.envs.feedback.env import Feedback

__all__ = ["BACKGROUNDS", "POSITIONS", "background", "seen"]

#: Rewards of the other users, by what they are.
BACKGROUNDS: dict[str, Callable[[int], Array]] = {
    "zeros": np.zeros,
    "ones": np.ones,
    "mixed": lambda n: np.arange(n) % 2 * 1.0,
}

#: Where the user stands whose reward changes.
POSITIONS: dict[str, Callable[[int], int]] = {
    "first": lambda n: 0,
    "middle": lambda n: n // 2,
    "last": lambda n: n - 1,
}


def background(kind: str, n: int, position: str | None = None, reward: float = 0.0) -> Array:
    """Rewards of a block, ``(n,)``; that at `position` is `reward`.

    Examples
    --------
    >>> background("zeros", 3, "last", 1.0).tolist()
    [0.0, 0.0, 1.0]
    """
    x = np.array(BACKGROUNDS[kind](n))
    if position is not None:
        x[POSITIONS[position](n)] = reward
    return x


class _Plant(Wrapper):
    """Users earn what they are told."""

    def __init__(self, blocks: Sequence[Array]):
        super().__init__(name="audit: plant")
        self._blocks = blocks

    def reset(self, env: World, seeds: Seeds) -> None:
        self._at = 0

    def send(self, message: Payload, env: World) -> Payload:
        planned = message["n"]
        x = np.zeros((*planned.shape, len(self._blocks[self._at])))
        x[:] = self._blocks[self._at]
        self._at += 1
        return message.but(reward=Individuals(x, planned))


class _Tap(Wrapper):
    """Whatever leaves the users' side in the open, but for the rewards themselves."""

    def __init__(self) -> None:
        super().__init__(name="audit: tap")

    def send(self, message: Payload, env: World) -> Payload:
        self.message = {
            k: np.broadcast_to(v, message["n"].shape).astype(float)
            for k, v in message.items()
            if isinstance(v, np.ndarray) and v.shape == message["n"].shape
        }
        self.message["users left"] = message["reward"].n.astype(float)
        return message


def seen(
    wrappers: Sequence[Wrapper], blocks: Sequence[Array], runs: int, seed: int = 0, users: str = "each", **env: Any
) -> tuple[Feedback, dict[str, Array]]:
    """Play blocks of told rewards, and return the env and what was seen: per field ``(blocks, runs)``.

    Parameters
    ----------
    wrappers : sequence of Wrapper
        The protocol, as an env would carry it.
    blocks : sequence of (n,) arrays
        Each block's rewards, 0 or 1, the same in all runs.
    runs, seed : int
    users : str
        As in `Feedback`; a pooled block is of like users: all its rewards are its first one.

    Returns
    -------
    env : Feedback
    fields : dict
        ``reward`` is NaN where no block arrived.
    """
    each = users == "each"
    tap = _Tap()
    core = Feedback(
        users=users,
        means=(0.0, 1.0),
        rewards="bernoulli",
        horizon=sum(map(len, blocks)),
        runs=runs,
        wrappers=[*([_Plant(blocks)] if each else []), *wrappers, tap],
        **env,
    )
    core.reset(seed)
    own = core.wrappers[-1]  # the env's copy of the tap
    assert isinstance(own, _Tap)
    open_to_all = getattr(core.mechanism, "hidden_by", "sum") != "server"
    found: dict[str, list[Array]] = {}
    for x in blocks:
        arm = 0 if each else int(x[0])
        core.pull((np.full((runs, 1), arm), np.full((runs, 1), len(x))))
        inbox = core.talk().inbox
        assert isinstance(inbox, BlockInbox)
        arrived = inbox.arrived[:, 0, 0]
        row = {name: inbox.total(name)[:, 0].astype(float) for name in ("reward", "n")}
        row["reward"] = np.where(arrived, row["reward"], np.nan)
        row["arrived"] = arrived.astype(float)
        if open_to_all:
            row |= {f"message's {k}": v[:, 0] for k, v in own.message.items()}
        for name, value in row.items():
            found.setdefault(name, []).append(value)
    return core, {name: np.array(rows) for name, rows in found.items()}
