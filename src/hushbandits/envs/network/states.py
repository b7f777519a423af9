"""Compiled rounds of agents that post states (means and counts by arm), with incremental sums of received states.

A round changes a sender's state in one arm.  Receivers therefore keep the sum of the states that have reached them, and
add each change when it arrives.  The sums are identical to the bit if counts, and means times counts, lie on a grid
that doubles hold exactly (`PrivateMeans`).
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array
from hushbandits.envs.network.inbox import Ring, SlotInbox, Slots

#: Compiles a function, or leaves it as it is.
Turn = Callable[[Callable[..., None]], Callable[..., None]]
#: The fields of a state, per arm.
STATES = ("mean", "count")


class Posting(NamedTuple):
    """Data of a wrapper with which compiled rounds turn default messages into states (a mean and a count per arm)."""

    state: object  # its arrays, among them `mean` and `pulls`, (R, M, K)
    uniforms: Array  # (rounds, R, M)
    published: bool  # whether agents see their own posts instead of their own rewards


class Changes(NamedTuple):
    """Sums of the states that have reached each agent, and the changes that are still in transit."""

    heard: Array  # (R, M, K, 2) counts, and means times counts
    arm: Array  # (R, M, depth) the arm in which a post differs from the previous one
    step: Array  # (R, M, depth, 2) the difference, 0 if it is not sent

    @classmethod
    def of(cls, ring: Ring, slots: Slots, n_arms: int, published: Mapping[str, Array]) -> "Changes":
        """Return the sums and changes after the last round; `published` contains each agent's own state."""
        inbox = SlotInbox(ring, slots, n_arms)
        heard = np.stack([inbox.total("count"), inbox.total("mean", weight="count")], -1)
        if published:
            heard += np.stack([published["count"], published["mean"] * published["count"]], -1)
        shape = (*ring.sent.shape[1:], ring.depth)
        arm, step = np.zeros(shape, np.int64), np.zeros((*shape, 2))
        states = np.stack([ring.values["count"], ring.values["mean"] * ring.values["count"]], -1)
        for posted in range(max(1, ring.t + 2 - ring.depth), ring.t + 1):
            now = posted % ring.depth
            change = states[now] - states[(posted - 1) % ring.depth]
            arm[..., now] = (change != 0).any(3).argmax(2)
            step[:, :, now] = np.take_along_axis(change, arm[..., now, None, None], 2)[:, :, 0]
            step[~ring.sent[now], now] = 0.0
        return cls(heard, arm, step)


def of_states(
    learn: Callable[..., None], post: Callable[..., None], hear: Callable[..., None], leave: Callable[..., None],
    turned: Turn,
) -> Callable[..., None]:  # fmt: skip
    """Return a function, compiled by `turned`, that ends a round in which `post` turns messages into states."""

    @turned
    def posted(mail, changes, books, posting, i, r, t, now):
        own, (mean, count) = posting.state, mail.values
        pulls, released, heard = own.pulls[r], own.mean[r], changes.heard[r]
        # the ring needs the states of the block's last rounds alone: receivers get changes
        kept = t > books.quiet and posting.uniforms.shape[0] - i <= mail.sent.shape[0]
        for m in range(books.arms.shape[1]):
            k = books.arms[r, m]
            n, total = pulls[m, k], pulls[m, k] * released[m, k]
            post(own, r, m, k, books.rewards[r, m], posting.uniforms[i, r, m])
            n, total = pulls[m, k] - n, pulls[m, k] * released[m, k] - total
            if posting.published:
                heard[m, k, 0] += n
                heard[m, k, 1] += total
            changes.arm[r, m, now], step, sent = k, changes.step[r, m, now], mail.sent[now, r, m]
            step[0], step[1] = n * sent, total * sent
            if kept:
                for j in range(released.shape[1]):
                    mean[now, r, m, j], count[now, r, m, j] = released[m, j], pulls[m, j]

    @turned
    def arrived(mail, changes, r, t):
        depth, _, agents = mail.sent.shape
        g, heard = r % mail.sender.shape[0], changes.heard[r]
        shell, receiver, now = mail.shell[g], mail.sender[g], t % depth
        for w in range(agents):
            arm, step, i = changes.arm[r, w], changes.step[r, w], now
            for d in range(min(depth, shell.shape[1] - 1, t)):
                n, x = step[i]
                if n != 0.0 or x != 0.0:
                    k = arm[i]
                    for s in range(shell[w, d], shell[w, d + 1]):
                        to = receiver[w, s]
                        heard[to, k, 0] += n
                        heard[to, k, 1] += x
                i = i - 1 if i > 0 else depth - 1

    @turned
    def end(state, mail, changes, books, fates, i, r, t, before):
        learn(state, r, books.arms, books.rewards)
        leave(mail, books, fates, i, r, t, before)
        posted(mail, changes, books, fates.posting, i, r, t, (before + 1) % mail.sent.shape[0])
        arrived(mail, changes, r, before + 1)
        hear(state, r, changes.heard[r], t)

    return end
