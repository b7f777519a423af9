"""Secure aggregation, which releases only sums of messages.

Its bases are those of all secure functions: ideal, or a cryptographic protocol whose parties all play in this process.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import cast

import numpy as np

from hushbandits.core import Channel, Fields, Guarantee, Inbox, Payload, Privatizer, SecureFunction, Streams, World
from hushbandits.core.guarantee import hides
from hushbandits.core.utils import LARGEST_NUMBER, Array, choice, flag, integer, real, shown
from hushbandits.core.wrapper import Wrapper
from hushbandits.secure.bonawitz import MEASURES, Cohorts, Protocol
from hushbandits.secure.mixnet import Batches
from hushbandits.wrappers.mechanism import Mechanism

_ROOM = 1 << 62  # sums of residues are reduced after they are added


class Played(Wrapper):
    """Base class of secure functions, which are ideal or run a cryptographic `protocol`."""

    protocol: str | None = None
    _play: Batches | Cohorts  # with a protocol: its parties

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        if self.protocol is not None:
            self._play.reset(rng, rows)

    def metrics(self, env: World) -> dict[str, Array]:
        return {} if self.protocol is None else self._play.metrics()


class Passage(Played):
    """Base class of secure functions that use one channel for messages and inboxes."""

    vetted = ("proof", "audit")

    @abstractmethod
    def channel(self, env: World) -> Channel:
        """Return a new channel for the env's setting."""

    def message_fields(self, fields: Fields, env: World) -> Fields:
        self._channel = self.channel(env)
        return self._channel.message_fields(fields, env)

    def inbox_fields(self, fields: Fields, env: World) -> Fields:
        return self._channel.inbox_fields(fields, env)

    def reset(self, env: World, rng: Streams, rows: Array | None = None) -> None:
        super().reset(env, rng, rows)
        self._channel.reset(env, rng, rows)

    def send(self, message: Payload, env: World) -> Payload:
        return self._channel.send(message, env)

    def deliver(self, inbox: Inbox, env: World) -> Inbox:
        return self._channel.deliver(inbox, env)


class SecAgg(Passage, SecureFunction):
    """Secure aggregation: receivers get the sum mod m of the encoded messages, and nothing else.

    Feedback: adds a block's messages up; a mechanism before it names the modulus, raw rewards are encoded on a
    fixed-point grid here.  Network: each receiver gets, of what arrives in a round, the pulls and reward sums per arm
    (codes one-hot in the arm, rewards rounded to the grid), so the inbox has a `tally` and nothing else.  Exploration:
    the coordinator gets the votes per arm of a window of activations.  Linear: the server gets the sum of a round's
    uploads, rounded to the grid.  A cohort smaller than `min_cohort` reveals
    nothing at all: in feedback its messages are lost, in exploration the window stays open, and in network, where a
    cohort is those who report one arm to one receiver in one round, the arm looks as if nobody had pulled it.

    By default the sum is an ideal functionality.  ``protocol="bonawitz"`` plays the protocol that it idealises, for
    every cohort, with all parties in this process: the sums are bit-identical, and the metrics measure their cost.
    Feedback needs ``simulate_users="individual"`` then.  Who drops out before its masked message is not in the sum;
    where too few are left the cohort reveals nothing, as a small one, and in exploration who is not in a window's sum
    stays for the next. In network the receiver opens the sum of all arms at once, and is trusted to drop those unread
    that too few report. Source: Bonawitz et al. 2017; Bell et al. 2020 (`neighbours`).

    Parameters
    ----------
    min_cohort : int
        Fewest messages that are added up, ≥ 2: the sum of one message is the message.  Of a block whose mechanism
        counts on some of its users (`min_participants`), no fewer than these either.
    quantization_levels : int
        Fixed-point steps per unit reward where no mechanism has encoded rewards.
    bound : float
        Network: the largest reported ``|reward|`` that the modulus makes room for; a larger one raises.  Linear: the
        same of every entry of an upload.
    batch_window : int, optional
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

    operations = ("seal",)
    _play: Cohorts

    def __init__(
        self,
        min_cohort: int = 2,
        quantization_levels: int = 1 << 16,
        bound: float = 1.0,
        batch_window: int | None = None,
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
        self.batch_window = None if batch_window is None else integer("batch_window", batch_window, 2)
        self.min_cohort = integer("min_cohort", min_cohort, 2)
        self.quantization_levels = integer("quantization_levels", quantization_levels, 1, 1 << 30)
        malicious, insecure_seed = flag("malicious", malicious), flag("insecure_seed", insecure_seed)
        if protocol is not None:
            self.protocol = choice("protocol", protocol, ("bonawitz",))
            self.neighbours, self.threshold, self.malicious = neighbours, threshold, malicious
            given = {} if dropouts is None else dropouts
            self._how = Protocol(neighbours, threshold, malicious, self.min_cohort, given, insecure_seed)
            self._play = Cohorts(self._how)
            self.dropouts, self.insecure_seed = dict(given), insecure_seed
            vars(self)["metrics_spec"] = dict(MEASURES)  # an ideal sum measures nothing
        elif (neighbours, threshold, malicious, dropouts, insecure_seed) != (None, None, False, None, True):
            asked = f"{neighbours=}, {threshold=}, {malicious=}, dropouts={shown(dropouts)}, {insecure_seed=}"
            raise ValueError(f'{self.name} takes these parameters only with protocol="bonawitz": {asked}')

    @property
    def in_one_pass(self) -> bool:
        """Return whether it releases the sum of a block of at least `fewest` pooled users, and nothing else."""
        return self.protocol is None and self.keeps(SecAgg, "channel")

    def room(self, n: int, most: int) -> None:
        """Raise ``ValueError`` if `most`, the largest possible sum of up to `n` rewards, is 2⁶² or more."""
        if most >= _ROOM:
            at = f"quantization_levels={self.quantization_levels} and bound={self.bound:g}"
            raise ValueError(
                f"{self.name}: with {at}, a sum of up to {n} rewards may reach {most:.3g}, but must be below 2^62"
            )

    def channel(self, env: World) -> Channel:
        return cast(Channel, env.message_class.sealed(self, env))

    def add_up(self, run: int, vectors: Array, modulus: int, fewest: int = 2) -> tuple[Array, Array]:
        """Return the sum of `vectors` mod m, ideal or by the protocol, and the mask of the rows in the sum.

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
        if self.protocol is None:
            return vectors.sum(0) % modulus, np.ones(len(vectors), bool)
        return self._play.add_up(run, vectors, modulus, fewest)

    @property
    def max_drop_fraction(self) -> float:
        return 0.0 if self.protocol is None else float(self._how.loses)

    def needed(self, env: World) -> Callable[[int], int] | None:
        """Return a function that maps a block size n to the number of users that the block's sum needs.

        ``None``: the mechanism before it counts on all (``min_participants=1.0``), or there is none.
        """
        mechanism = next((w for w in env.wrappers if isinstance(w, Privatizer) or w.name == self.name), None)
        return None if not isinstance(mechanism, Mechanism) or mechanism.counts_on_all else mechanism.sure

    def fewest(self, n: int, env: World) -> int:
        needed = self.needed(env)
        least = self.min_cohort if needed is None else max(self.min_cohort, needed(n))
        return least if self.protocol is None else max(least, self._how.threshold_of(n))

    def tolerates(self, n: int, colluders: int) -> bool:
        return self.protocol is None or self._how.tolerates(n, colluders)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        if self.protocol is None:
            what, whose = "ideal modular sum", ("an ideal functionality: no collusion, no cryptography",)
        else:
            what, whose = self._how.words, (*self._how.assumptions, *getattr(self._channel, "played", ()))
        between = (
            "receivers do not pool their sums: cohorts of neighbours overlap, and the difference of two sums that "
            "differ in one sender is its message",
            "nobody in a cohort gives its own message away: those of min_cohort − 1 others leave one",
        )
        text = f"{what} over at least {self.min_cohort} messages {self._channel.cohort}"
        inputs = "any two sets of messages with the same sum"
        view = "the receiver: the sum; it learns nothing else, and all of the sum"
        source = "Bonawitz et al. 2017" + ("; Bell et al. 2020" if getattr(self, "neighbours", None) else "")
        return hides(text, inputs, view, (*whose, *between), source, self.vetted)
