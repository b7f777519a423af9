"""Network agents defined by compiled rules, which are played phase by phase or in compiled rounds.

A `NetworkTeam` defines an agent by `Rules`.  The phases play one round at a time; an episode plays blocks of rounds in
one loop.  An episode has no state of its own: it reads the env's random stream, and writes to its ring and the team's
arrays.  Phases and episodes may thus alternate at any round.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from hushbandits.core import LONGEST, Arms, Array, Inbox, Message, Observation, Payload, Streams, Team, World, Wrapper
from hushbandits.core.random.rewards import Law
from hushbandits.envs.network.env import CoopNetwork
from hushbandits.envs.network.inbox import Mail, SlotInbox
from hushbandits.envs.network.rules import Books, Fates, Loops, Payment, Rules, compiled, standard_report
from hushbandits.envs.network.states import STATES, Changes
from hushbandits.envs.rounds.env import compiles, play, shifted


class NetworkTeam(Team):
    """Base class of network agents that are defined by compiled rules.

    A subclass defines `rules` and `begin`; it then plays by phases and in compiled rounds.  A subclass that overrides
    a phase but not the rules plays by phases.

    Attributes
    ----------
    state : named tuple
        The arrays and numbers that the rules read and write, from `begin`.
    quiet : int
        Number of initial rounds without messages.
    """

    setting = "network"
    rules: ClassVar[Rules]
    state: Any
    quiet: int = 0
    #: For rules in plain Python, `interpreted`.
    made: Callable[..., Loops] = staticmethod(compiled)

    def begin(self, env: World, rng: Streams) -> tuple[object, ...]:
        """Return the initial state of the runs as a named tuple; `rng` holds the runs' random streams."""
        raise NotImplementedError(f"{type(self).__name__} must define begin(env, rng)")

    def ahead(self) -> int:
        """Return the number of rounds, from now on, that compiled code can play; 0 if the next round needs phases."""
        return LONGEST

    def reset(self, env: World, rng: Streams) -> None:
        self._arm = np.zeros((len(rng), env.n_agents), np.int64)  # of the last round
        self._t = 0
        self._n_arms = env.n_arms
        self.state = self.begin(env, rng)
        self._fields = [env.fields[name] for name in self.rules.fields if name in env.fields]
        self._blank = {name: np.zeros((*self._arm.shape, *f.shape), f.form) for name, f in env.fields.items()}

    def act(self, obs: Observation) -> Array:
        self._t = int(obs.t[0]) + 1
        self.made(self.rules).act(self.state, self._t, self._arm)
        return self._arm

    def compose(self, reward: Array) -> Message | None:
        """Pass the agents' own rewards to the rules; return the message that the rules post."""
        rules = self.rules
        made = self.made(rules)
        if "reward" not in self.required_own_reward:  # own rewards are withheld
            return None if self._t > self.quiet else {"arm": self._arm, "sent": np.zeros(self._arm.shape, bool)}
        made.learn(self.state, self._arm, reward)
        own = {"arm": self._arm, "reward": reward}
        said: Message = {name: own.get(name, zeros) for name, zeros in self._blank.items()}
        if rules.post is not standard_report:
            values = tuple([np.empty((1, *reward.shape, *field.shape), field.form) for field in self._fields])
            made.post(self.state, values, self._arm, reward)
            said = {name: value[0] for name, value in zip(rules.fields, values, strict=True)}
        elif self._t > self.quiet:
            return None
        return {**said, "sent": np.full(reward.shape, self._t > self.quiet)}

    def receive(self, inbox: Inbox) -> None:
        """Pass the inbox to the rules in the form ``rules.takes``; teams that read single posts override this method.

        Raises
        ------
        ValueError
            A tally of another shape, or an inbox without `mix`.
        """
        rules = self.rules
        if rules.takes == "states":
            count, total, own = inbox.total("count"), inbox.total("mean", weight="count"), inbox.own
            if own:
                count, total = own["count"] + count, own["count"] * own["mean"] + total
            self.made(rules).tallied(self.state, np.stack([count, total], -1), self._t)
        elif self._t <= self.quiet:
            return
        elif rules.takes == "tally":
            heard = np.empty((*self._arm.shape, self._n_arms, 2))
            for i, part in enumerate(map(np.asarray, inbox.tally())):
                if part.shape != heard.shape[:3]:
                    raise ValueError(f"a tally must be pulls and sums of shape {heard.shape[:3]}, not {part.shape}")
                heard[..., i] = part
            self.made(rules).tallied(self.state, heard, self._t)
        elif rules.takes == "mix" and type(inbox) is SlotInbox:
            self.made(rules).mixed(self.state, *inbox._mail(rules.fields), self._t)
        elif rules.takes == "mix":
            raise ValueError(f"{self.name} needs a SlotInbox to average messages, not {type(inbox).__name__}")
        else:
            raise NotImplementedError(f"{type(self).__name__} must define receive(inbox)")

    def episode(
        self, env: World, until: float = math.inf, stops: Sequence[float] = (), look: Callable[[], None] | None = None
    ) -> bool:
        """Play every run in compiled code; return False if the env, a wrapper or an overridden phase prevents it."""
        rules = self.rules if _ruled(self) else None
        if rules is None or not isinstance(env, CoopNetwork):
            return False
        states = rules.takes == "states"
        fields = STATES if states else rules.fields
        if not env.has_compiled_rounds(fields, states or rules.post is not standard_report, states):
            return False
        desk, by = None, _by_blocks if _pays(env) else _by_rounds

        def advance(most: int) -> None:
            nonlocal desk
            rounds = min(most, self.ahead())
            if rounds == 0:
                phases(env, self)
                desk = None
                return
            desk = _Desk(env, self, fields) if desk is None else desk
            by(env, self, desk, rounds)
            self._t = int(env._t[0])

        play(env, until, stops, look, advance)
        return True


def phases(env: CoopNetwork, team: Team) -> None:
    """Play the next round by its phases."""
    obs = env.pull(team.act(env._seen()))
    obs = env.communicate(team.compose(obs.reward))  # type: ignore[arg-type]  # None if rewards are withheld
    assert obs.inbox is not None
    team.receive(obs.inbox)


class _Desk:
    """Data that compiled rounds reuse from block to block, until a phase is played."""

    def __init__(self, env: CoopNetwork, team: NetworkTeam, fields: tuple[str, ...]):
        rules, arms = team.rules, team._arm
        #: The wrapper that turns default messages into states.
        self.poster = poster = env.wrappers[0] if rules.takes == "states" else None
        self.loops: Loops = team.made(rules) if poster is None else team.made(rules, poster.poster)
        self.mail = Mail.of(env._ring, env.slots, fields)
        self.room: Array | Changes = (
            np.empty((1, env.n_agents, env.n_arms, 2))  # for a tally
            if poster is None
            else Changes.of(env._ring, env.slots, env.n_arms, poster.published(env))
        )
        self.books = Books(arms, np.empty(arms.shape), env._regret, env._messages, env._edges, team.quiet)
        # The default message has the arms of the last round; the team may write its next arms to its own array.
        self.reported = rules.post is standard_report and poster is None
        self.payment: Payment | None = None  # of arms that do not move


def _by_blocks(env: CoopNetwork, team: NetworkTeam, desk: _Desk, most: int) -> None:
    """Play a block of at most `most` rounds at once, with rewards computed in compiled code."""
    env._phase = "broken"  # until the rounds are over
    t, ring, books, plain = int(env._t[0]), env._ring, desk.books, compiles(env.law)
    most_numbers = max(env.n_arms, env.n_agents, 0 if plain else env.runs * env.n_agents * env.n_arms // 8)  # a round's
    uniforms = env._uniforms.rows(min(most, max(1, _BLOCK // most_numbers)))
    rounds = len(uniforms)
    if desk.payment is None or env.arms.moving:
        desk.payment = Payment.of(env, t, rounds)
    fates, payment = _fates(env, desk.poster, rounds), desk.payment
    if plain:
        uniforms = shifted(env.law, uniforms)
    else:
        location = payment.location.swapaxes(0, 1)[:, :, None]
        payment = payment._replace(paid=(env.arms.tables or env.law).quantile(uniforms[..., None], location))
    desk.loops.rounds(team.state, desk.mail, desk.room, books, payment, uniforms, fates, t, ring.t)
    now = (ring.t + rounds) % ring.depth
    env._played(rounds, desk.mail.values[0][now] if desk.reported else books.arms, books.rewards)


def _by_rounds(env: CoopNetwork, team: NetworkTeam, desk: _Desk, rounds: int) -> None:
    """Play at most `rounds` rounds one by one with rewards from the env, for any law and any arms."""
    env._phase = "broken"  # until the rounds are over
    books, rounds = desk.books, min(rounds, max(1, _BLOCK // env.n_agents))
    fates = _fates(env, desk.poster, rounds)
    for i, t in enumerate(range(int(env._t[0]) + 1, int(env._t[0]) + rounds + 1)):
        desk.loops.act(team.state, t, books.arms)
        env.own_reward = books.rewards[:] = env._pull(books.arms.copy())
        desk.loops.close(team.state, desk.mail, desk.room, books, fates, i, t, env._ring.t)
        env._played(1)


_BLOCK = 1 << 14  # numbers per run that are computed ahead
_ALL_ARMS = 1 << 11  # a round is worth that many rewards: all arms' are computed ahead
_PHASES = ("act", "compose", "receive")


def _ruled(team: NetworkTeam) -> bool:
    """Return whether every phase of `team` comes from the class that defines `rules` or from a base class of it."""
    classes = [vars(cls) for cls in type(team).__mro__]
    first = {n: next((i for i, own in enumerate(classes) if n in own), math.inf) for n in ("rules", *_PHASES)}
    return not vars(team).keys() & first.keys() and first["rules"] <= min(first[name] for name in _PHASES)


def _pays(env: CoopNetwork) -> bool:
    """Return whether compiled code can compute the rewards of `env`."""
    law = type(env.law)
    # The gaps of moving arms are computed for many rounds at once only if that needs no special function.
    plain = type(env.arms) is Arms and (law.mean is Law.mean or not env.arms.moving)
    return plain and (compiles(env.law) or env.runs * env.n_agents * env.n_arms <= _ALL_ARMS)


def _fates(env: CoopNetwork, poster: Wrapper | None, rounds: int) -> Fates:
    """Return how the wrappers change posts in the next `rounds` rounds, found by sending marked posts through them."""
    shape = env.active_agents.shape
    if not env.wrappers or poster is not None:
        posting = None if poster is None else poster.posting(rounds)
        return Fates(np.empty((0, *shape), bool), np.empty((0, *shape)), posting)
    kept, reward = np.empty((rounds, *shape), bool), np.empty((rounds, *shape))
    shape = kept.shape if all(wrapper.ships("send") for wrapper in env.wrappers) else shape
    values = {name: np.zeros((*shape, *field.shape), field.form) for name, field in env.sent_fields.items()}
    if "reward" in values:
        values["reward"][:] = math.nan
    everyone = env.message_class(**values, sent=np.ones(shape, bool))
    for at in (slice(None),) if shape == kept.shape else range(rounds):
        message: Payload = everyone
        for wrapper in env.wrappers:
            message = wrapper.send(message, env)
        kept[at], reward[at] = message["sent"], message.get("reward", math.nan)
    return Fates(kept, reward if not np.isnan(reward).all() else reward[:0])
