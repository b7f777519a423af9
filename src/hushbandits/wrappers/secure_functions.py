"""Secure functions: what is added up or shuffled between senders and receivers; what that is, the setting says.

Each is ideal, or a cryptographic protocol whose parties are all played in this process.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import cast

import numpy as np

from hushbandits.core import Adjacency, Channel, Guarantee, Payload, Privatizer, SecureFunction, World, Wrapper
from hushbandits.core.messages import Fields, Inbox, require
from hushbandits.core.random.names import SHARES
from hushbandits.core.random.streams import Streams
from hushbandits.core.rows import set_rows
from hushbandits.core.utils import LARGEST_NUMBER, Array, choice, flag, integer, real, shown
from hushbandits.envs.feedback.cohort import Cohort, Individuals, blocks
from hushbandits.privacy.plans import SMALLEST, shares_needed, split_and_mix
from hushbandits.secure.arithmetic import secret_shares
from hushbandits.secure.bonawitz import MEASURES, Cohorts, Protocol
from hushbandits.secure.mixnet import MIXED, MOST_HOPS, Batches, mixed_words
from hushbandits.secure.primitives import needed
from hushbandits.wrappers.mechanism import Mechanism

PROTOCOLS = ("split-and-mix", "pure", "binary-sum")
_ROOM = 1 << 62  # sums of residues are reduced after they are added


class _Played(Wrapper):
    """Base of secure functions: ideal, or played by a `protocol` that `_parties` makes anew for R runs."""

    protocol: str | None = None

    @abstractmethod
    def _parties(self, rng: Streams) -> Batches | Cohorts:
        """Return the parties of R new runs."""

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        if self.protocol is not None and rows is None:
            self._play = self._parties(rng)
        elif self.protocol is not None:
            self._play.reset(rng, rows)

    def metrics(self, env: World) -> dict[str, Array]:
        return {} if self.protocol is None else self._play.metrics()


class _Passage(_Played):
    """Base of secure functions whose way out and way in belong together."""

    @abstractmethod
    def channel(self, env: World) -> Channel:
        """Return a fresh channel of the env's setting."""

    def sends(self, fields: Fields, env: World) -> Fields:
        self._channel = self.channel(env)
        return self._channel.sends(fields, env)

    def hears(self, fields: Fields, env: World) -> Fields:
        return self._channel.hears(fields, env)

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        super().reset(env, rng, rows)
        self._channel.reset(env, rng, rows)

    def send(self, message: Payload, env: World) -> Payload:
        return self._channel.send(message, env)

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        return self._channel.deliver(inbox, env)


def _hides(mechanism: str, inputs: str, view: str, assumptions: tuple[str, ...], source: str) -> tuple[Guarantee, ...]:
    return (Guarantee(mechanism, math.inf, 0.0, Adjacency(inputs, "none"), view, assumptions, source),)


class _Mixed(_Played):
    """Base of shufflers: ideal, or with ``protocol="mixnet"`` a cascade of mixes.

    Parameters
    ----------
    protocol : str, optional
        ``"mixnet"``; by default the shuffler is ideal.
    hops : int
        Mixes that each batch passes.
    insecure_seed : bool
        Whether keys and orders follow from the run's seed: a simulation.

    Raises
    ------
    ValueError
        A number out of its range, or a parameter of the protocol without it.
    """

    _play: Batches

    def __init__(self, protocol: str | None, hops: int, insecure_seed: bool, *, name: str | None = None):
        super().__init__(name=name)
        hops, insecure_seed = integer("hops", hops, 1, MOST_HOPS), flag("insecure_seed", insecure_seed)
        if protocol is not None:
            self.protocol = choice("protocol", protocol, ("mixnet",))
            needed()
            self.hops, self.insecure_seed = hops, insecure_seed
            vars(self)["measures"] = dict(MIXED)  # an ideal shuffle measures nothing
        elif (hops, insecure_seed) != (3, True):
            raise ValueError(f'{self.name} is ideal: what the protocol is to be like needs protocol="mixnet"')

    @property
    def shuffler(self) -> tuple[str, ...]:
        """What its users trust in."""
        return ("an honest shuffler",) if self.protocol is None else mixed_words(self.hops, self.insecure_seed)

    def _parties(self, rng: Streams) -> Batches:
        return Batches(self.hops, self.insecure_seed, rng)


class SecAgg(_Passage, SecureFunction):
    """Secure aggregation between senders and receivers: they get ``Σ y mod m`` and nothing else.

    Feedback: adds a block's messages up; a mechanism before it names the modulus, raw rewards are encoded on a
    fixed-point grid here.  Network: each receiver gets, of what arrives in a round, the pulls and reward sums per arm
    (codes one-hot in the arm, rewards rounded to the grid), so the inbox has a `tally` and nothing else.  Exploration:
    the coordinator gets the votes per arm of a window of activations.  A cohort smaller than `min_cohort` reveals
    nothing at all: in feedback its messages are lost, in exploration the window stays open, and in network, where a
    cohort is those who report one arm to one receiver in one round, the arm looks as if nobody had pulled it.

    By default the sum is an ideal functionality.  ``protocol="bonawitz"`` plays the protocol that it idealises, for
    every cohort, with all parties in this process: the sums are the same to the bit, and it is told what they cost.
    Feedback needs ``users="each"`` then.  Who drops out before its masked message is not in the sum; where too few are
    left the cohort reveals nothing, as a small one, and in exploration who is not in a window's sum stays for the next.
    In network the receiver opens the sum of all arms at once, and is trusted to drop those unread that too few report.
    Source: Bonawitz et al. 2017; Bell et al. 2020 (`neighbours`).

    Parameters
    ----------
    min_cohort : int
        Fewest messages that are added up, ≥ 2: the sum of one message is the message.  Of a block whose mechanism
        counts on some of its users (`t_min`), no fewer than these either.
    grid : int
        Fixed-point steps per unit reward where no mechanism has encoded rewards.
    bound : float
        Network: the largest reported ``|reward|`` that the modulus makes room for; a larger one raises.
    window : int, optional
        Exploration only, and needed there: activations per sum.
    protocol : str, optional
        ``"bonawitz"``; by default the sum is ideal.  What follows is for the protocol alone.
    neighbours : int, optional
        With how many others a user shares its secrets; by default with all of its cohort.
    threshold : int, optional
        How many of them must answer for it at the end; by default ⌊2k/3⌋ + 1 of k.  A cohort of no more users than
        that reveals nothing.
    malicious : bool
        Against a server that lies: users sign.  Everybody is a neighbour then.
    dropouts : mapping, optional
        With which probability a user is silent from a stage on: ``"keys"``, ``"shares"``, ``"masked"``, ``"signed"``
        (where users sign), ``"unmask"``.
    insecure_seed : bool
        Whether keys follow from the run's seed, so that all bytes repeat: a simulation.  Otherwise they are the
        operating system's, and what a run measures is the same.

    Raises
    ------
    ValueError
        A number out of its range, a stage that is none, or a parameter of the protocol without it.
    """

    verbs = ("seal",)
    _play: Cohorts

    def __init__(
        self,
        min_cohort: int = 2,
        grid: int = 1 << 16,
        bound: float = 1.0,
        window: int | None = None,
        protocol: str | None = None,
        neighbours: int | None = None,
        threshold: int | None = None,
        malicious: bool = False,
        dropouts: Mapping[str, float] | None = None,
        insecure_seed: bool = True,
        *,
        name: str | None = None,
    ):
        super().__init__(name=name)
        self.bound = real("bound", bound, 0, LARGEST_NUMBER)
        self.window = None if window is None else integer("window", window, 2)
        self.min_cohort = integer("min_cohort", min_cohort, 2)
        self.grid = integer("grid", grid, 1, 1 << 30)
        malicious, insecure_seed = flag("malicious", malicious), flag("insecure_seed", insecure_seed)
        if protocol is not None:
            self.protocol = choice("protocol", protocol, ("bonawitz",))
            self.neighbours, self.threshold, self.malicious = neighbours, threshold, malicious
            given = {} if dropouts is None else dropouts
            self._how = Protocol(neighbours, threshold, malicious, self.min_cohort, given, insecure_seed)
            self.dropouts, self.insecure_seed = dict(given), insecure_seed
            vars(self)["measures"] = dict(MEASURES)  # an ideal sum measures nothing
        elif (neighbours, threshold, malicious, dropouts, insecure_seed) != (None, None, False, None, True):
            asked = f"{neighbours=}, {threshold=}, {malicious=}, dropouts={shown(dropouts)}, {insecure_seed=}"
            raise ValueError(f'{asked} of {self.name} needs protocol="bonawitz": by default the sum is ideal')

    def room(self, what: str, n: int, most: int) -> None:
        """Raise ``ValueError`` unless `most`, what `n` messages (`what`: users, …) may add up to, is far below 2⁶³."""
        if most >= _ROOM:
            at = f"at grid={self.grid} and bound={self.bound:g}"
            raise ValueError(f"{self.name}: {what} {n} adds up to {most:.3g} {at}; a smaller grid keeps it below 2^62")

    def channel(self, env: World) -> Channel:
        return cast(Channel, env.payload.sealed(self, env))

    def _parties(self, rng: Streams) -> Cohorts:
        return Cohorts(self._how, rng)

    def add_up(self, run: int, vectors: Array, modulus: int, fewest: int = 2) -> tuple[Array, Array]:
        """Add a cohort up by the protocol.

        Parameters
        ----------
        run : int
        vectors : (n, K) int64
            Its messages, residues of the modulus.
        modulus : int
        fewest : int
            A sum of fewer is not opened.

        Returns
        -------
        total : (K,) int64
            Zeros after an abort.
        left : (n,) bool
            Whose messages are in it; nobody's after an abort.
        """
        return self._play.add_up(run, vectors, modulus, fewest)

    @property
    def max_drop_fraction(self) -> float:
        return 0.0 if self.protocol is None else float(self._how.loses)

    def needed(self, env: World) -> Callable[[int], int] | None:
        """Without how many users of a block of n no sum is opened: those to whom the mechanism's noise is calibrated.

        ``None``: the mechanism before it counts on all (``t_min=1.0``), or there is none.
        """
        before = takewhile(lambda w: w.name != self.name, env.wrappers)
        mechanism = next((w for w in before if isinstance(w, Privatizer)), None)
        if not isinstance(mechanism, Mechanism) or (isinstance(mechanism.t_min, float) and mechanism.t_min == 1.0):
            return None
        return mechanism.sure

    def enforces(self, env: World) -> bool:
        return self.needed(env) is not None

    def fewest(self, n: int, env: World) -> int:
        needed = self.needed(env)
        least = self.min_cohort if needed is None else max(self.min_cohort, needed(n))
        return least if self.protocol is None else max(least, self._how.threshold_of(n))

    def tolerates(self, n: int, colluders: int) -> bool:
        return self.protocol is None or self._how.tolerates(n, colluders)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        channel = self.channel(env)
        if self.protocol is None:
            what, whose = "ideal modular sum", ("an ideal functionality: no collusion, no cryptography",)
        else:
            what, whose = self._how.words, (*self._how.assumptions, *getattr(channel, "played", ()))
        between = (
            "receivers do not pool their sums: cohorts of neighbours overlap, and the difference of two sums that "
            "differ in one sender is its message",
            "nobody in a cohort gives its own message away: those of min_cohort − 1 others leave one",
        )
        text = f"{what} over at least {self.min_cohort} messages {channel.cohort}"
        inputs = "any two sets of messages with the same sum"
        view = "the receiver: the sum; it learns nothing else, and all of the sum"
        source = "Bonawitz et al. 2017" + ("; Bell et al. 2020" if getattr(self, "neighbours", None) else "")
        return _hides(text, inputs, view, (*whose, *between), source)


class Shuffle(_Mixed, _Passage):
    """A shuffler between senders and receivers: the multiset of messages, and nothing else.

    Network: each receiver's arrivals of a round in a uniform order, ``who`` and delays gone (so an agent that
    needs senders, such as QuACK, is refused).  Exploration: the votes of a window of activations, as counts per
    arm.  Feedback: the messages of a block of users; a pool of like users is its own shuffle.

    By default the shuffler is an ideal functionality.  ``protocol="mixnet"`` sends every batch through mixes, all in
    this process; feedback needs ``users="each"`` then, and in exploration every agent of a window sends a message for
    each arm, so that none shows by its number.  Source of the model: Bittau et al. 2017; of the mixes: Chaum 1981.

    Parameters
    ----------
    window : int, optional
        Exploration only, and needed there: activations per shuffle.
    min_cohort : int
        Exploration only: fewest different agents per window.
    protocol : str, optional
        ``"mixnet"``; by default the shuffler is ideal.  What follows is for the protocol alone.
    hops : int
        Mixes that each batch passes.
    insecure_seed : bool
        Whether keys and orders follow from the run's seed: a simulation.  Otherwise they are the operating system's,
        and a run whose agents go by the order does not repeat.

    Raises
    ------
    ValueError
        A number out of its range, or a parameter of the protocol without it.

    Examples
    --------
    >>> import hushbandits as hb
    >>> sorted(hb.make_core("CoopNetwork-v0", wrappers=[Shuffle()]).inbox_fields)
    ['arm', 'reward']
    """

    verbs = ("shuffle",)

    def __init__(
        self,
        window: int | None = None,
        min_cohort: int = 2,
        protocol: str | None = None,
        hops: int = 3,
        insecure_seed: bool = True,
        *,
        name: str | None = None,
    ):
        super().__init__(protocol, hops, insecure_seed, name=name)
        self.window = None if window is None else integer("window", window, 2)
        self.min_cohort = integer("min_cohort", min_cohort, 2)

    def channel(self, env: World) -> Channel:
        return cast(Channel, env.payload.shuffled(self, env))

    def order(self, run: int, messages: Sequence[bytes]) -> Array:
        """Send a batch through the mixes.

        Parameters
        ----------
        run : int
        messages : sequence of bytes

        Returns
        -------
        (n,) int
            Which of them stands where.
        """
        return self._play.order(run, messages)

    def add_up(self, run: int, vectors: Array, modulus: int) -> tuple[Array, Array]:
        """Count votes behind the mixes.

        Parameters
        ----------
        run : int
        vectors : (n, K) int64
            Votes, 0 or 1.
        modulus : int
            Larger than n.

        Returns
        -------
        total : (K,) int64
        left : (n,) bool
            Everybody's.
        """
        return self._play.count(run, vectors), np.ones(len(vectors), bool)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        what, source = "ideal shuffle", "Cheu et al. 2019"
        whose: tuple[str, ...] = ("the shuffler is trusted", "seeded permutations are a simulation")
        if self.protocol is not None:
            what, source, whose = f"shuffle by {self.hops} mixes", f"{source}; Chaum 1981", self.shuffler
        inputs = "none: it hides who said what, not what was said"
        view = "the receiver sees the multiset of messages of a cohort"
        return _hides(f"{what}: a uniform permutation, senders removed", inputs, view, whose, source)


class ShuffledSum(_Mixed, SecureFunction):
    """The sum that a server computes from shuffled messages, which hide who sent what and more.

    ``split-and-mix``: k uniform shares per message, ``k = ⌈2 + (2σ + log₂ m)/(log₂ n − log₂ e)⌉`` for the n users that
    the mechanism is sure of (`t_min`), each counted in ``bits``; where fewer than 19 are left the block is refused:
    nothing of it arrives.  So it is, of every protocol, where the mechanism is sure of a part of the users alone, and
    fewer are left.  ``pure``: an ideal (ε̂, q̂)-relaxed secure aggregation; with probability ``q̂ = 1/(2T)`` a
    block's sum is a uniform number.  ``binary-sum``: the bits' sum.  Source: Balle et al. 2020; Chowdhury & Zhou 2023,
    theorem 3; Tenenbaum et al. 2021, in the order of `PROTOCOLS`.

    The shuffler is ideal, and adds up messages that nobody cuts; or with ``protocol="mixnet"`` it is a cascade of mixes
    through which every share of ``split-and-mix`` goes, with ``users="each"``; the sums are the same to the bit.

    Parameters
    ----------
    shuffle : str
        One of `PROTOCOLS`.
    security : int
        σ of ``split-and-mix``, the mechanism's.
    min_cohort : int
        Fewest users whose sum is opened.
    protocol : str, optional
        ``"mixnet"``; by default the shuffler is ideal.
    hops : int
        Mixes that every share passes.
    insecure_seed : bool
        Whether shares, keys and orders follow from the run's seed: a simulation.  Otherwise they are the operating
        system's; sums are the same, and the noise in them is the mechanism's own.

    Raises
    ------
    ValueError
        A number out of its range, a parameter of the protocol without it, or the protocol with another `shuffle`.
    """

    verbs = ("seal",)
    _rngs: list[np.random.Generator]

    def __init__(
        self,
        shuffle: str = "split-and-mix",
        security: int = 40,
        min_cohort: int = 2,
        protocol: str | None = None,
        hops: int = 3,
        insecure_seed: bool = True,
        *,
        name: str | None = None,
    ):
        super().__init__(protocol, hops, insecure_seed, name=name)
        self.shuffle = choice("shuffle", shuffle, PROTOCOLS)
        self.security = integer("security", security, 1, 128)
        self.min_cohort = integer("min_cohort", min_cohort, 2)
        if protocol is not None and shuffle != "split-and-mix":
            raise ValueError(f"shuffle={shuffle!r}: with protocol={protocol!r} allowed is 'split-and-mix'")

    def sends(self, fields: Fields, env: World) -> Fields:
        require(self.name, ("reward", "n", "modulus"), fields)
        if self.protocol is not None and getattr(env, "users", "") != "each":
            raise ValueError(f'{self.name} with protocol="mixnet" needs users one by one: give the env users="each"')
        before = next((w for w in env.wrappers if isinstance(w, Privatizer)), None)
        if not isinstance(before, Mechanism) or getattr(before, "shuffle", None) != self.shuffle:
            raise ValueError(f"shuffle={self.shuffle!r} of {self.name} does not fit the noise of {before!r}")
        if self.shuffle == "split-and-mix" and getattr(before, "security", None) != self.security:
            raise ValueError(f"security={self.security} of {self.name} differs from that of {before!r}")
        self._mechanism = before
        self._wrong = 1 / (2 * env.horizon) if self.shuffle == "pure" else 0.0
        return {k: f for k, f in fields.items() if k != "users"}

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        super().reset(env, rng, rows)
        set_rows(self, rows, _rngs=rng.generators(SHARES))

    def send(self, message: Payload, env: World) -> Payload:
        crowd: Cohort = message["reward"]
        modulus, bits = message["modulus"], message["bits"].copy()
        keep = message["sent"] & (crowd.n >= self.min_cohort)
        sums, total = crowd.total(), np.zeros(crowd.n.shape, np.int64)
        for r, i, n in blocks(crowd.planned):
            m, rng, sure = int(modulus[r, i]), self._rngs[r], self._mechanism.sure(n)
            keep[r, i] &= sure == n or crowd.n[r, i] >= sure  # its noise is that of so many
            k = 1
            if self.shuffle == "split-and-mix":
                keep[r, i] &= crowd.n[r, i] >= SMALLEST
                # cut before it is known who drops out: enough for the fewest that may be opened
                k = shares_needed(max(SMALLEST, sure), m, self.security) if n >= SMALLEST else 1
                bits[r, i] *= k
            total[r, i] = sums[r, i] % m
            if self.protocol is not None and keep[r, i]:
                assert isinstance(crowd, Individuals)
                total[r, i] = sum(self._mixed(r, crowd.messages(r, i), k, m).tolist()) % m
            if self._wrong and rng.random() < self._wrong:
                total[r, i] = rng.integers(m)
        return message.but(reward=crowd.seal(total, keep, self.name), sent=keep, bits=bits)

    def _mixed(self, run: int, messages: Array, k: int, m: int) -> Array:
        """Return k shares of each message as they leave the mixes."""
        shares = split_and_mix(messages, k, m, self._rngs[run]) if self.insecure_seed else secret_shares(messages, k, m)
        return np.frombuffer(b"".join(self._play.shuffle(run, [share.tobytes() for share in shares])), np.int64)
