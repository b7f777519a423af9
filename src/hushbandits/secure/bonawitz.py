"""The protocol of Bonawitz et al. as one call, with all parties in this process.

`Cohorts` has the sums of many cohorts in R runs: whose keys, who drops out, and what it all costs.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from hushbandits.core import Array, Metric, Streams, affordable, integer, probability, set_rows, shown
from hushbandits.core.random.names import DROPS, KEYS
from hushbandits.secure import primitives
from hushbandits.secure.arithmetic import SHARE
from hushbandits.secure.messages import DIGEST, HEADER, Abort, Fault, Kind, packed
from hushbandits.secure.parties import Parameters
from hushbandits.secure.server import Server, play
from hushbandits.secure.user import PAIR, User, remembering

#: What a user sends, in order; ``"signed"`` only against malicious servers.
STAGES = ("keys", "shares", "masked", "signed", "unmask")

#: The metrics of `Cohorts.metrics`.
MEASURES = {
    "secagg_bytes_up": Metric("bytes that a user sends per secure sum", "amount"),
    "secagg_bytes_down": Metric("bytes that a user gets per secure sum", "amount"),
    "secagg_rounds": Metric("rounds of secure sums", "count"),
    "secagg_aborts": Metric("secure sums that were aborted", "count"),
    **{f"secagg_dropped_{stage}": Metric(f"users that dropped out at stage {stage}", "count") for stage in STAGES},
}

#: Bytes that two neighbours take in one process, about; most neighbours of a user.
_PAIR, _MOST = 1000, (1 << 20) - 1


@dataclass(frozen=True)
class Outcome:
    """The outcome of a secure sum.

    Parameters
    ----------
    total : Array or None
        ``Σ x mod m`` over the survivors, None after an abort.
    survivors : tuple of int
        Whose vectors are in it.
    up, down : Array
        Bytes that each user sent and got.
    rounds : int
        Those that ended.
    aborted : Abort or None
    """

    total: Array | None
    survivors: tuple[int, ...]
    up: Array
    down: Array
    rounds: int
    aborted: Abort | None


def agreed(n: int, neighbours: int | None, threshold: int | None, malicious: bool) -> tuple[int, int]:
    """Return how many neighbours each of `n` users has, and how many neighbours must answer."""
    k = n - 1 if neighbours is None else min(neighbours + neighbours % 2, n - 1)
    t = min(2 * k // 3 + 1, k) if threshold is None else threshold
    return k, max(t, n // 2 + 1) if malicious else t


def traffic(
    n: int, length: int, modulus: int, neighbours: int | None = None, malicious: bool = False
) -> tuple[int, int]:
    """Return the numbers of bytes that a user sends and receives in one secure sum, headers included.

    Parameters
    ----------
    n : int
        Users.
    length : int
        Numbers per vector.
    modulus : int
        m: a number takes ⌈log₂ m⌉ bits.
    neighbours : int, optional
        By default everybody.
    malicious : bool
        With signatures.

    Examples
    --------
    >>> traffic(1000, 10, 1 << 40, 100)
    (13170, 16144)

    The setting of Bonawitz et al. 2017, figure 1: 1,024 users and 2²⁰ numbers of 16 bits, in all over what is added up.

    >>> round(sum(traffic(1024, 1 << 20, 1 << 26)) / (2 << 20), 2)
    1.77
    """
    k, _ = agreed(n, neighbours, None, malicious)
    keys = 2 * primitives.KEY + malicious * primitives.SIGNATURE
    box, name = PAIR + primitives.BOX, 4
    up = [keys, DIGEST + primitives.KEY + k * (name + box), DIGEST + packed(length, modulus)]
    up += [DIGEST + primitives.SIGNATURE] * malicious + [DIGEST + k * (name + 3 + SHARE)]
    down = [k * (name + keys), k * (name + box), name * (3 + k)]
    down += [k * (name + primitives.SIGNATURE)] * malicious
    return sum(up) + (HEADER + DIGEST) * len(up), sum(down) + (HEADER + DIGEST) * len(down)


@dataclass(eq=False, repr=False)
class SecureSum:
    """A secure sum of vectors by the protocol of Bonawitz et al., with all parties in this process.

    Parameters
    ----------
    modulus : int
        2 … 2⁶².
    neighbours : int, optional
        With how many others a user shares; by default, and where a sum has fewer users, with everybody.
    threshold : int, optional
        How many of them unmask; by default ⌊2k/3⌋ + 1 of k neighbours.  With `malicious` at least more than n/2.
    malicious : bool
        Against a server that lies: keys and lists are signed.  It needs everybody as a neighbour.
    fewest : int
        A sum of fewer vectors is not opened, ≥ 2.
    insecure_seed : int, optional
        A simulation: all keys follow from it.  By default they are the operating system's.

    References
    ----------
    Bonawitz et al. 2017; Bell et al. 2020 (the graph).

    Examples
    --------
    >>> outcome = SecureSum(100).sum(np.array([[70], [20], [30]]), dropouts={"masked": {1}})
    >>> outcome.aborted is None, outcome.aborted
    (False, Abort('too few users left: 1 neighbours of user 0 are left, fewer than threshold=2'))
    >>> outcome = SecureSum(100, threshold=1).sum(np.array([[70], [20], [30]]), dropouts={"masked": {1}})
    >>> outcome.total, outcome.survivors
    (array([0], dtype=uint64), (0, 2))
    """

    modulus: int
    neighbours: int | None = None
    threshold: int | None = None
    malicious: bool = False
    fewest: int = 2
    insecure_seed: int | None = None

    def __post_init__(self) -> None:
        primitives.needed()
        self.modulus, self.fewest = integer("modulus", self.modulus, 2, 1 << 62), integer("fewest", self.fewest, 2)
        k, t = self.neighbours, self.threshold
        self.neighbours = None if k is None else integer("neighbours", k, 1, _MOST)
        self.threshold = None if t is None else integer("threshold", t, 1, k or _MOST)
        if self.malicious and self.neighbours is not None:
            raise ValueError(f"neighbours={self.neighbours} must be None with malicious=True: all users are neighbours")
        self._sums = 0

    def sum(self, vectors: Array, dropouts: Mapping[str, Collection[int]] | None = None) -> Outcome:
        """Return the `Outcome` of one secure sum: the sum of the rows of `vectors`, or the reason for an abort.

        Parameters
        ----------
        vectors : Array
            Residues of the modulus, integers, (n, K).
        dropouts : mapping, optional
            Who is silent from which stage on (`STAGES`).

        Raises
        ------
        ValueError
            Vectors of another form, a stage or a user that is none; more memory than is allowed (`HUSHBANDITS_MEMORY`).
        Whatever happens later is an outcome.
        """
        server = why = None
        try:
            server, users = self.parties(vectors)
            play(server, users, _silent(dropouts or {}, len(users)))
        except Abort as abort:
            why = abort
        if server is None:
            _silent(dropouts or {}, len(vectors))  # bad dropouts are refused although nobody plays
            none = np.zeros(len(vectors), np.int64)
            return Outcome(None, (), none, none, 0, why)
        survivors = () if server.total is None else tuple(server.survivors)
        return Outcome(server.total, survivors, server.up, server.down, server.rounds, why)

    def parties(self, vectors: Array) -> tuple[Server, dict[int, User]]:
        """Return the server and the users of a new session; raise `Abort` if there are too few users.

        Parameters
        ----------
        vectors : Array
            As in `sum`.
        """
        x = np.asarray(vectors)
        if x.ndim != 2 or x.dtype.kind not in "iu" or x.shape[1] == 0 or (x < 0).any() or (x >= self.modulus).any():
            raise ValueError(f"vectors must be (n, K) integers in 0 … {self.modulus - 1}, not {x.dtype} {x.shape}")
        seed = None if self.insecure_seed is None else f"{self.insecure_seed}, sum {self._sums}"
        self._sums += 1  # no two sums share a session, nor keys
        n, length = x.shape
        k, t = agreed(n, self.neighbours, self.threshold, self.malicious)
        least = max(self.fewest, t + 1, 3 if self.malicious else 2)
        if n < least:
            raise Abort(Fault.DROPOUT, f"{n} users are present; allowed are {least} or more")
        signing = [primitives.source(seed, f"identity {u}")(primitives.KEY) for u in range(n)] if self.malicious else []
        directory = tuple(primitives.public(primitives.signing(secret)) for secret in signing)
        session = primitives.source(seed, "session")(16)
        p = Parameters(n, self.modulus, length, k, t, session, self.fewest, directory)
        affordable(f"a secure sum of {n} users with {k} neighbours", n * k * _PAIR + 80.0 * length * (n + k))
        secrets, agree = signing or [b""] * n, remembering()
        return Server(p), {u: User(p, u, x[u], secrets[u], seed, agree) for u in range(n)}


def _silent(dropouts: Mapping[str, Collection[int]], n: int) -> dict[Kind, set[int]]:
    for stage, names in dropouts.items():
        if stage not in STAGES:
            raise ValueError(f"dropouts at {stage!r}: the stage must be one of {', '.join(STAGES)}")
        if strange := set(names) - set(range(n)):
            raise ValueError(f"dropouts at {stage!r} of user {min(strange)}: users are 0 … {n - 1}")
    return {Kind[stage.upper()]: set(names) for stage, names in dropouts.items()}


@dataclass(frozen=True)
class Protocol:
    """The options of the secure sums of all cohorts.

    Parameters
    ----------
    neighbours, threshold, malicious, fewest
        As in `SecureSum`.
    dropouts : mapping
        With which probability a user that has come so far is silent from a stage on.
    insecure_seed : bool
        Whether keys follow from a run's seed: a simulation.

    Raises
    ------
    ValueError
        A stage or a probability that is none; what `SecureSum` refuses.
    ImportError
        Without `cryptography`.
    """

    neighbours: int | None
    threshold: int | None
    malicious: bool
    fewest: int
    dropouts: Mapping[str, float]
    insecure_seed: bool

    def __post_init__(self) -> None:
        self.sum(2, None)
        stages = STAGES if self.malicious else tuple(stage for stage in STAGES if stage != "signed")
        if not isinstance(self.dropouts, Mapping):
            raise ValueError(f"dropouts={shown(self.dropouts)} must be a dict such as {{'masked': 0.1}}")
        for stage, rate in self.dropouts.items():
            if stage not in stages:
                raise ValueError(f"dropouts at {stage!r}: the stage must be one of {', '.join(stages)}")
            probability(f"dropouts at {stage!r}", rate)

    @property
    def loses(self) -> bool:
        """Return whether users' vectors may be missing from a sum."""
        return any(self.dropouts.get(stage, 0.0) > 0 for stage in STAGES[:3])

    @property
    def words(self) -> str:
        """Return a description of the protocol."""
        k = "all" if self.neighbours is None else str(self.neighbours)
        t = "⌊2k/3⌋ + 1 of k" if self.threshold is None else str(self.threshold)
        signed = " and more than n/2, lists signed" if self.malicious else ""
        return f"modular sum by the protocol of Bonawitz et al. ({k} neighbours, threshold {t}{signed})"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return the assumptions under which a secure sum reveals only the sum."""
        k, t = self.neighbours, self.threshold
        whom = "⌊2k/3⌋ + 1 of a user's k neighbours" if t is None else f"{t} of its neighbours"
        words = [f"the server follows the protocol, and against no user colludes with {whom}"]
        if self.malicious:
            words = [
                "fewer than 2t − n users of a cohort of n collude with the server, t the threshold, and all users knew "
                "each other's signing keys beforehand"
            ]
        elif t is not None and (k is None or 2 * t <= k + k % 2):
            # Shares of both secrets of a user give its input away: t of its neighbours who think that it survived, and
            # t who think that it dropped, are 2t of them.
            least = 2 * t + 1
            words.append(f"it reports the same survivors to all: in a cohort of {least} or more a lie reads an input")
        if k is not None:
            words.append("those who answer and do not collude hang together as neighbours")
        words.append("X25519, HKDF-SHA256 and ChaCha20 cannot be broken")
        if self.insecure_seed:
            words.append("keys follow from the run's seed: a simulation")
        return tuple(words)

    def threshold_of(self, n: int) -> int:
        """Return the threshold t of a cohort of `n`: sums of t or fewer users are never opened."""
        return agreed(n, self.neighbours, self.threshold, self.malicious)[1]

    def tolerates(self, n: int, colluders: int) -> bool:
        """Return whether `colluders` of `n` users and the server learn only the sum; with `neighbours`, return True.

        On a graph it depends on whose neighbours they are, and `assumptions` say so.
        """
        if self.neighbours is not None:
            return True
        t = self.threshold_of(n)
        return colluders < (2 * t - n if self.malicious else t)

    def sum(self, modulus: int, seed: int | None, fewest: int = 2) -> SecureSum:
        """Return a new `SecureSum` for one cohort, which opens only sums of at least `fewest` vectors."""
        return SecureSum(modulus, self.neighbours, self.threshold, self.malicious, max(self.fewest, fewest), seed)


class Cohorts:
    """The sequence of secure sums in each of R runs.

    Parameters
    ----------
    protocol : Protocol
    """

    _keys: list[np.random.Generator]
    _drops: list[np.random.Generator]
    _bytes: Array
    _counts: Array  # users, rounds, aborts, who dropped out where

    def __init__(self, protocol: Protocol):
        self._protocol = protocol

    def reset(self, rng: Streams, rows: Array | None = None) -> None:
        """Start R new runs, or restart only the runs `rows`."""
        n = len(rng)
        set_rows(
            self, rows, _keys=rng.generators(KEYS), _drops=rng.generators(DROPS),
            _bytes=np.zeros((n, 2)), _counts=np.zeros((n, 3 + len(STAGES)), np.int64),
        )  # fmt: skip

    def add_up(self, run: int, vectors: Array, modulus: int, fewest: int = 2) -> tuple[Array, Array]:
        """Return the secure sum of a cohort's `vectors` in run `run`, and the mask of the rows in this sum.

        Parameters
        ----------
        run : int
        vectors : (n, K) int64
            Residues.
        modulus : int
        fewest : int
            A sum of fewer vectors is not opened.

        Returns
        -------
        total : (K,) int64
            Zeros after an abort.
        left : (n,) bool
            Whose vectors are in it; nobody's after an abort.
        """
        n, how = len(vectors), self._protocol
        rates = np.array([how.dropouts.get(stage, 0.0) for stage in STAGES])
        silent = self._drops[run].random((n, len(STAGES))) < rates
        since = np.where(silent.any(1), silent.argmax(1), len(STAGES))  # the last number: never
        seed = int.from_bytes(self._keys[run].bytes(16), "big") if how.insecure_seed else None
        dropouts = {name: np.flatnonzero(since == i).tolist() for i, name in enumerate(STAGES)}
        outcome = how.sum(modulus, seed, fewest).sum(vectors, dropouts)
        self._bytes[run] += outcome.up.sum(), outcome.down.sum()
        dropped = np.bincount(since, minlength=len(STAGES) + 1)[:-1]
        self._counts[run] += n, outcome.rounds, outcome.total is None, *dropped
        left = np.isin(np.arange(n), outcome.survivors)
        return np.zeros(vectors.shape[1], np.int64) if outcome.total is None else outcome.total.astype(np.int64), left

    def metrics(self) -> dict[str, Array]:
        """Return the metrics declared in `MEASURES`, each ``(R,)``."""
        users, *counts = self._counts.T.copy()
        return dict(zip(MEASURES, (*(self._bytes.T / np.maximum(users, 1)), *counts), strict=True))
