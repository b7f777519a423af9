"""Run a feedback protocol on rewards that are told, and write down all that an observer sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from hushbandits.audits.beats import Blocks, rounds
from hushbandits.core.env import Env
from hushbandits.core.ground.types import Array, Message
from hushbandits.core.payload import Payload
from hushbandits.core.roles import SecureFunction
from hushbandits.core.world import World
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.feedback.cohort import BlockInbox, Cohort, Individuals
from hushbandits.envs.feedback.env import Feedback
from hushbandits.wrappers.loss import Loss

__all__ = ["BACKGROUNDS", "LOSSES", "POSITIONS", "Seen", "background", "seen"]

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

#: Where users may get lost: before they have drawn their noise, or after.
LOSSES = ("before", "behind")


def background(kind: str, n: int, position: str | None = None, reward: float = 0.0) -> Array:
    """Rewards of a block, ``(n,)``; that at `position` is `reward`."""
    x = np.array(BACKGROUNDS[kind](n))
    if position is not None:
        x[POSITIONS[position](n)] = reward
    return x


class _Planted(Feedback):
    """Users earn what they are told; what else an env of one's own reports, it makes of that."""

    #: Rewards of each block; empty: the env's own.
    planted: Sequence[Array] = ()
    _turn = 0

    def _report(self) -> Message:
        if not self.planted:
            return super()._report()
        x = np.zeros((*self._n.shape, self.planted[self._turn].shape[-1]))
        x[:] = self.planted[self._turn]
        self._turn += 1
        bits = np.full(self._n.shape, 64)
        return {"reward": Individuals(x, self._n), "n": self._n, "bits": bits, "sent": self._n > 0}


class _Tap(Wrapper):
    """What passes: users one by one where they can be seen, and all that is sent beside them."""

    def __init__(self, where: str) -> None:
        super().__init__(name=f"audit: {where}")

    def send(self, message: Payload, env: World) -> Payload:
        crowd: Cohort = message["reward"]
        self.message = {
            k: np.broadcast_to(v, message["n"].shape).astype(float)
            for k, v in message.items()
            if isinstance(v, np.ndarray) and v.shape == message["n"].shape
        }
        self.message["users left"] = crowd.n.astype(float)
        self.users = crowd.values() if isinstance(crowd, Individuals) else None
        return message


@dataclass(frozen=True)
class Seen:
    """What was seen of blocks, each array ``(B, R, M)``, each list of ``(R, M, n)`` per block.

    Among the fields ``reward`` is NaN where no block arrived; `sums` are Σx of the users whose message got through,
    `left` how many these are; `rewards` what users earned, where they are seen one by one, 0 of those who got lost;
    `users` their messages, where nobody hides them; `tape` the luck of the env's own reward tape.
    """

    env: Feedback
    fields: dict[str, Array]
    sums: Array
    left: Array
    rewards: list[Array]
    users: list[Array]
    tape: Array


def seen(
    wrappers: Sequence[Wrapper],
    blocks: Sequence[Array] | Sequence[int],
    runs: int,
    seed: int = 0,
    users: str = "each",
    servers: int = 1,
    loss: tuple[str, float] | None = None,
    kind: type[Env] = Feedback,
) -> Seen:
    """Play blocks, and write down what was seen.

    Blocks are rewards ``(n,)``, the same in all runs, or ``(R, M, n)``; or sizes alone, where users draw 0 or 1 by the
    env's own luck.  Pooled users are alike: all rewards are the first one.  `loss` says where users get lost
    (`LOSSES`), and how many; `kind` is the env's class, which may report more than `Feedback` does.
    """
    core, taps = _built(wrappers, blocks, runs, users, servers, loss, kind)
    sizes = [x if isinstance(x, int) else x.shape[-1] for x in blocks]
    alike = [0.0 if users == "each" or isinstance(x, int) else float(x.flat[0]) for x in blocks]
    team = Blocks([(2 * (b % 2) + int(x), n) for b, (x, n) in enumerate(zip(alike, sizes, strict=True))])
    played = rounds(core, team, seed)
    earned, sent, out = (cast(_Tap, next(w for w in core.wrappers if w.name == tap.name)) for tap in taps)
    open_to_all = getattr(core.mechanism, "hidden_by", "sum") != "server"
    found: dict[str, list[Array]] = {}
    sums, left, tape, rewards, messages = [], [], [], [], []
    for turn, x in zip(played, alike, strict=True):
        tape.append(core._seed / 2.0**53)
        assert isinstance(turn.inbox, BlockInbox)
        for name, value in _row(turn.inbox, out.message if open_to_all else {}).items():
            found.setdefault(name, []).append(value)
        left.append(sent.message["users left"].astype(int))
        if earned.users is None:
            sums.append(left[-1] * x)
            continue
        there = ~np.isnan(sent.users) if sent.users is not None else np.ones(earned.users.shape, bool)
        rewards.append(np.where(there, np.clip(earned.users, 0.0, 1.0), 0.0))
        sums.append(rewards[-1].sum(2))
        if open_to_all and out.users is not None:
            messages.append(out.users)
    fields = {name: np.array(rows) for name, rows in found.items()}
    return Seen(core, fields, np.array(sums), np.array(left), rewards, messages, np.array(tape))


def _row(inbox: BlockInbox, message: dict[str, Array]) -> dict[str, Array]:
    arrived = inbox.arrived[:, :, 0]
    row = {name: inbox.total(name).astype(float) for name in ("reward", "n")}
    row["reward"] = np.where(arrived, row["reward"], np.nan)
    return {**row, "arrived": arrived.astype(float), **{f"message's {k}": v for k, v in message.items()}}


def _built(
    wrappers: Sequence[Wrapper],
    blocks: Sequence[Array] | Sequence[int],
    runs: int,
    users: str,
    servers: int,
    loss: tuple[str, float] | None,
    kind: type[Env],
) -> tuple[_Planted, tuple[_Tap, _Tap, _Tap]]:
    """The protocol between taps: what users earn, what they send to a secure function, what leaves it."""
    own = isinstance(blocks[0], int)
    last = next((i for i, w in enumerate(wrappers) if isinstance(w, SecureFunction)), len(wrappers))
    taps = _Tap("earned"), _Tap("sent"), _Tap("left")
    lost = {loss[0]: [Loss(loss[1], name="audit: loss")]} if loss else {}
    planted: type[_Planted] = _Planted
    if issubclass(kind, Feedback) and kind._report is not Feedback._report:
        planted = type(kind.__name__, (kind, _Planted), {})
    core = planted(
        users=users,
        n_agents=servers,
        means=(0.5,) * 4 if own else (0.0, 1.0, 0.0, 1.0),
        permute_arms=False,
        rewards="bernoulli",
        horizon=sum(x if isinstance(x, int) else x.shape[-1] for x in blocks),
        runs=runs,
        wrappers=[
            taps[0], *lost.get("before", []), *wrappers[:last], *lost.get("behind", []), taps[1], *wrappers[last:],
            taps[2],
        ],
    )  # fmt: skip
    core.planted = () if own or users != "each" else cast(Sequence[Array], blocks)
    return core, taps
