"""Compiled rules of network agents, and loops of these rules for single phases or blocks of rounds."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hushbandits.core import Array, Bernoulli, World, lean
from hushbandits.core.utils.jit import inlined, within
from hushbandits.envs.network.reductions import mix, tally
from hushbandits.envs.network.states import Posting, Turn, of_states
from hushbandits.envs.rounds.env import SHIFTS


@lean
def standard_report(state, values, now, r, arms, rewards):
    """Write the arms and rewards of run r to the posts of this round."""
    arm, reward = values
    for m in range(arms.shape[1]):
        arm[now, r, m], reward[now, r, m] = arms[r, m], rewards[r, m]


@lean
def nothing(state, r, heard, t):
    """Do nothing; this function replaces a rule `learn` or `receive` that an agent does not need."""


class Rules(NamedTuple):
    """The compiled functions that define all agents of a run; their first argument is the team's `state`.

    Parameters
    ----------
    act : (state, t, r, arms)
        Phase 1 of round t = 1, 2, …: write their arms to ``arms[r]``.
    learn : (state, r, arms, rewards)
        Process their own rewards, ``rewards[r]``.
    receive : (state, r, heard, t)
        Process the arrivals at the end of round t.
    takes : str
        The form of `heard`:

        ``"posts"``: the ring's `Mail`, whose newest posts are those of round ``mail.posted``; such a team overrides
        `receive` to read an inbox.
        ``"tally"``: (M, K, 2) pulls and reward sums of run r, from any inbox with a tally.
        ``"mix"``: the posts, (R, M, K, 2).  The array ``state.sums`` of that shape has been averaged with the
        neighbours' by the weights ``state.matrix``, (G, M, M).
        ``"states"``: (M, K, 2) counts, and means times counts, of the latest state of every sender (`STATES`), and of
        the agent's own where the agent receives it.
    post : (state, values, now, r, arms, rewards)
        After `learn`: write all agents' messages to ``values[i][now, r]``, field by field.
    fields : tuple of str
        The fields of the message.
    """

    act: Callable[..., None]
    learn: Callable[..., None]
    receive: Callable[..., None]
    takes: str = "posts"
    post: Callable[..., None] = standard_report
    fields: tuple[str, ...] = ("arm", "reward")


class Books(NamedTuple):
    """Arrays of compiled rounds: arms and rewards of a round, regret and messages so far, and the cost of a post.

    The cost is the number of transmissions.
    """

    arms: Array  # (R, M) the team's
    rewards: Array  # (R, M) of the last round
    regret: Array  # (R, M)
    messages: Array  # (R,)
    edges: Array  # (G, M) transmissions of one post
    quiet: int  # initial rounds without messages


class Fates(NamedTuple):
    """Effects of wrappers in compiled rounds: posts sent, rewards replaced, and data that turn reports into states."""

    kept: Array  # (rounds, R, M) bool whether it is sent, or (0, R, M): all are
    reward: Array  # (rounds, R, M) the new reward, NaN: unchanged; or (0, R, M): all unchanged
    posting: Posting | None = None  # turns the reports into states


class Payment(NamedTuple):
    """Rule for a pull's reward, given a random number u.

    With `coin` it is 1 if u is below the location, and otherwise 0; without `coin` it is location + u, clipped.  If
    `paid` is not empty, the reward is its entry.
    """

    location: Array  # (R, rounds, K), or (R, 1, K): all alike
    gap: Array
    coin: bool
    low: float
    high: float
    paid: Array = np.empty((0, 0, 0, 0))  # (rounds, R, M, K) the reward of each arm, or no rounds

    @classmethod
    def of(cls, env: World, t: int, rounds: int) -> "Payment":
        """Return the rule of the next `rounds` rounds from round t on, or of all rounds if the arms do not move."""
        stand = env.arms.look(np.broadcast_to(np.arange(t, t + rounds), (env.runs, rounds)))
        low, high = SHIFTS.get(type(env.law), (0.0, 1.0))
        return cls(np.array(stand.location), np.array(stand.gap), type(env.law) is Bernoulli, low, high)


@inlined
def _pay(payment, uniforms, i, r, books):
    location, gap, low, high = payment.location, payment.gap, payment.low, payment.high
    arms, rewards, regret = books.arms, books.rewards, books.regret
    at = i % location.shape[1]
    for m in range(arms.shape[1]):
        k, u = arms[r, m], uniforms[i, r, m]
        regret[r, m] += gap[r, at, k]
        if payment.paid.shape[0]:
            rewards[r, m] = payment.paid[i, r, m, k]
        elif payment.coin:
            rewards[r, m] = 1.0 if u < location[r, at, k] else 0.0
        else:
            rewards[r, m] = min(max(location[r, at, k] + u, low), high)


@inlined
def _leave(mail, books, fates, i, r, t, posted):
    # which posts leave, as in Ring.post, and the transmissions that each sets off
    depth, _, agents = mail.sent.shape
    before, now, spent, g = posted % depth, (posted + 1) % depth, 0, r % books.edges.shape[0]
    for m in range(agents):
        leaves = t > books.quiet and (fates.kept.shape[0] == 0 or fates.kept[i, r, m])
        mail.sent[now, r, m], mail.held[now, r, m] = leaves, leaves or mail.held[before, r, m]
        if leaves:
            spent += books.edges[g, m]
    books.messages[r] += spent


@lean
def _replaced(values, now, r, fates, i):
    if fates.reward.shape[0]:
        reward = values[1][now, r]
        for m in range(reward.size):
            if not math.isnan(fates.reward[i, r, m]):
                reward[m] = fates.reward[i, r, m]


@lean
def _as_posted(values, now, r, fates, i):
    pass


class Loops(NamedTuple):
    """Compiled or interpreted loops over agents' rules."""

    act: Callable[..., None]  # the phases: all runs
    learn: Callable[..., None]
    post: Callable[..., None]
    tallied: Callable[..., None]
    mixed: Callable[..., None]
    rounds: Callable[..., None]  # blocks of rounds
    close: Callable[..., None]  # a round after its rewards


@lru_cache
def compiled(rules: Rules, poster: Callable[..., None] | None = None) -> Loops:
    """Return compiled loops of `rules`; a given `poster` posts states in place of the default message."""
    # Compiled in place: a call copies the descriptions of all arrays of a state.
    act, learn, receive, takes, post, fields = rules
    code = Rules(within(act), within(learn), within(receive), takes, within(post), fields)
    return _written(code, lean, poster)


def interpreted(rules: Rules, poster: Callable[..., None] | None = None) -> Loops:
    """Return loops of `rules` in plain Python, which play only single phases, not blocks of rounds."""
    return _written(rules, lambda rule: rule, poster)


def _written(rules: Rules, turned: Turn, poster: Callable[..., None] | None) -> Loops:
    act, learn, post, hear = rules.act, rules.learn, rules.post, rules.receive
    hear_mixed = _mixed(hear, turned)
    end = of_states(learn, poster, hear, _leave, turned) if poster else _ended(rules, hear_mixed, turned)

    @turned
    def act_all(state, t, arms):
        for r in range(arms.shape[0]):
            act(state, t, r, arms)

    @turned
    def learn_all(state, arms, rewards):
        for r in range(arms.shape[0]):
            learn(state, r, arms, rewards)

    @turned
    def post_all(state, values, arms, rewards):
        for r in range(arms.shape[0]):
            post(state, values, 0, r, arms, rewards)

    @turned
    def tallied_all(state, heard, t):
        for r in range(heard.shape[0]):
            hear(state, r, heard[r], t)

    @turned
    def mixed_all(state, mail, posted, t):
        for r in range(mail.sent.shape[1]):
            hear_mixed(state, r, mail, None, posted, t)

    @turned
    def rounds(state, mail, room, books, payment, uniforms, fates, t, posted):
        for r in range(uniforms.shape[1]):  # run by run: its arrays stay in the caches
            for i in range(uniforms.shape[0]):
                act(state, t + i + 1, r, books.arms)
                _pay(payment, uniforms, i, r, books)
                end(state, mail, room, books, fates, i, r, t + i + 1, posted + i)

    @turned
    def close(state, mail, room, books, fates, i, t, posted):
        for r in range(books.arms.shape[0]):
            end(state, mail, room, books, fates, i, r, t, posted)

    return Loops(act_all, learn_all, post_all, tallied_all, mixed_all, rounds, close)


def _ended(rules: Rules, hear_mixed: Callable[..., None], turned: Turn) -> Callable[..., None]:
    """Return a function, compiled by `turned`, that ends a round by `rules`: agents learn, post and receive."""
    learn, post, hear_ring = rules.learn, rules.post, _from_ring(rules, hear_mixed, turned)
    amend = _replaced if rules.fields == ("arm", "reward") else _as_posted

    @turned
    def end(state, mail, room, books, fates, i, r, t, posted):
        now = (posted + 1) % mail.sent.shape[0]
        learn(state, r, books.arms, books.rewards)
        post(state, mail.values, now, r, books.arms, books.rewards)
        amend(mail.values, now, r, fates, i)
        _leave(mail, books, fates, i, r, t, posted)
        if t > books.quiet:
            hear_ring(state, r, mail, room, posted + 1, t)

    return end


def _mixed(hear: Callable[..., None], turned: Turn) -> Callable[..., None]:
    @turned
    def mixed(state, r, mail, room, posted, t):
        now = posted % mail.sent.shape[0]
        said, sums = mail.values[0][now], state.sums
        flat = (sums.shape[0], sums.shape[1], sums.shape[2] * sums.shape[3])
        mix(said.reshape(flat), mail.sent[now], mail.sender, mail.degree, state.matrix, r, sums.reshape(flat))
        hear(state, r, said, t)

    return mixed


def _from_ring(rules: Rules, hear_mixed: Callable[..., None], turned: Turn) -> Callable[..., None]:
    """Return the function that passes posts to `receive` in compiled rounds, in the form that ``rules.takes`` names."""
    hear = rules.receive

    @turned
    def posts(state, r, mail, room, posted, t):
        hear(state, r, mail, posted)

    @turned
    def tallied(state, r, mail, room, posted, t):
        arm, reward = mail.values
        room[:] = 0.0
        tally(arm, reward, mail.sent, mail.sender, mail.shell, posted, r, room)
        hear(state, r, room[0], t)

    # states arrive as changes, or by the phases
    return {"posts": posts, "tally": tallied, "mix": hear_mixed, "states": posts}[rules.takes]
