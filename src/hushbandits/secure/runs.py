"""Secure sums of many cohorts in R runs: whose keys, who drops out, and what it all costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from hushbandits.core import Array, probability, shown
from hushbandits.core.luck.tapes import streams
from hushbandits.core.measure import Measure
from hushbandits.core.rows import set_rows
from hushbandits.secure.bonawitz import STAGES, SecureSum, agreed
from hushbandits.secure.primitives import needed

__all__ = ["MEASURES", "Cohorts", "Protocol"]

#: What `Cohorts.metrics` measures.
MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "secagg_bytes_up": Measure("bytes that a user sends per secure sum", "amount"),
        "secagg_bytes_down": Measure("bytes that a user gets per secure sum", "amount"),
        "secagg_rounds": Measure("rounds of secure sums", "count"),
        "secagg_aborts": Measure("secure sums that were aborted", "count"),
        **{f"secagg_dropped_{stage}": Measure(f"users that dropped out at stage {stage}", "count") for stage in STAGES},
    }
)


@dataclass(frozen=True)
class Protocol:
    """How the sums of all cohorts are made.

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
        needed()
        self.sum(2, None)
        stages = STAGES if self.malicious else tuple(stage for stage in STAGES if stage != "signed")
        if not isinstance(self.dropouts, Mapping):
            raise ValueError(
                f"dropouts={shown(self.dropouts)} must be a table of probabilities by stage, such as "
                f"{{'masked': 0.1}}; stages are {', '.join(stages)}"
            )
        for stage, rate in self.dropouts.items():
            if stage not in stages:
                raise ValueError(f"dropouts at {stage!r}: allowed are {', '.join(stages)}")
            probability(f"dropouts at {stage!r}", rate)

    @property
    def loses(self) -> bool:
        """Whether users' vectors may be missing in a sum."""
        return any(self.dropouts.get(stage, 0.0) > 0 for stage in STAGES[:3])

    @property
    def words(self) -> str:
        """What is done."""
        k = "all" if self.neighbours is None else str(self.neighbours)
        t = "⌊2k/3⌋ + 1 of k" if self.threshold is None else str(self.threshold)
        signed = " and more than n/2, lists signed" if self.malicious else ""
        return f"modular sum by the protocol of Bonawitz et al. ({k} neighbours, threshold {t}{signed})"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Without which a sum says more than itself."""
        t = "⌊2k/3⌋ + 1 of a user's k neighbours" if self.threshold is None else f"{self.threshold} of its neighbours"
        whose = (
            "fewer than 2t − n users of a cohort of n collude with the server, t the threshold, and all users knew "
            "each other's signing keys beforehand"
            if self.malicious
            else f"the server follows the protocol, and against no user colludes with {t}"
        )
        least = self._readable
        lies = f"it tells all of them the same survivors: in a cohort of {least} or more a lie reads an input"
        told = (lies,) if least is not None else ()
        graph = ("those who answer and do not collude hang together as neighbours",) if self.neighbours else ()
        keys = ("keys follow from the run's seed: a simulation",) if self.insecure_seed else ()
        return (whose, *told, *graph, "X25519, HKDF-SHA256 and ChaCha20 cannot be broken", *keys)

    @property
    def _readable(self) -> int | None:
        """The smallest cohort in which a server that tells users different survivors may read an input; None: none.

        Shares of both secrets of a user give its input away: t of its neighbours who think that it survived, and t who
        think that it dropped, are 2t of them.
        """
        if self.malicious or self.threshold is None:
            return None
        k = self.neighbours
        return 2 * self.threshold + 1 if k is None or 2 * self.threshold <= k + k % 2 else None

    def threshold_of(self, n: int) -> int:
        """Of how many users, and fewer, no sum is opened in a cohort of `n`."""
        return agreed(n, self.neighbours, self.threshold, self.malicious)[1]

    def tolerates(self, n: int, colluders: int) -> bool:
        """Whether so many of `n` users who collude with the server learn the sum alone, where all are neighbours.

        On a graph it depends on whose neighbours they are, and `assumptions` say so.
        """
        if self.neighbours is not None:
            return True
        t = self.threshold_of(n)
        return colluders < (2 * t - n if self.malicious else t)

    def sum(self, modulus: int, seed: int | None, fewest: int = 2) -> SecureSum:
        """A sum of one cohort, which is not opened of fewer than `fewest`."""
        fewest = max(self.fewest, fewest)
        return SecureSum(modulus, self.neighbours, self.threshold, self.malicious, fewest, seed)


class Cohorts:
    """The secure sums of R runs, one cohort after the other.

    Parameters
    ----------
    protocol : Protocol
    name : str
        Of the tapes.
    seeds : sequence of SeedSequence
        One per run.
    """

    _keys: list[np.random.Generator]
    _luck: list[np.random.Generator]
    _bytes: Array
    _users: Array
    _rounds: Array
    _aborts: Array
    _dropped: Array

    def __init__(self, protocol: Protocol, name: str, seeds: Sequence[np.random.SeedSequence]):
        self._protocol, self._name = protocol, name
        self.reset(seeds)

    def reset(self, seeds: Sequence[np.random.SeedSequence], rows: Array | None = None) -> None:
        """Start R new runs, or the runs `rows` while the others go on."""
        n, name = len(seeds), self._name
        set_rows(
            self, rows, _keys=streams(seeds, f"{name}/keys"), _luck=streams(seeds, f"{name}/drops"),
            _bytes=np.zeros((n, 2)), _users=np.zeros(n, np.int64), _rounds=np.zeros(n, np.int64),
            _aborts=np.zeros(n, np.int64), _dropped=np.zeros((n, len(STAGES)), np.int64),
        )  # fmt: skip

    def add_up(self, run: int, vectors: Array, modulus: int, fewest: int = 2) -> tuple[Array, Array]:
        """Add a cohort's vectors up.

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
        stage = self._silent(run, n)
        seed = int.from_bytes(self._keys[run].bytes(16), "big") if how.insecure_seed else None
        dropouts = {name: np.flatnonzero(stage == i).tolist() for i, name in enumerate(STAGES)}
        outcome = how.sum(modulus, seed, fewest).sum(vectors, dropouts)
        self._bytes[run] += outcome.up.sum(), outcome.down.sum()
        self._users[run] += n
        self._rounds[run] += outcome.rounds
        self._aborts[run] += outcome.total is None
        self._dropped[run] += np.bincount(stage, minlength=len(STAGES) + 1)[:-1]
        left = np.zeros(n, bool)
        left[list(outcome.survivors)] = True
        return np.zeros(vectors.shape[1], np.int64) if outcome.total is None else outcome.total.astype(np.int64), left

    def _silent(self, run: int, n: int) -> Array:
        """From which stage on each user is silent; beyond the last: never."""
        rates = np.array([self._protocol.dropouts.get(stage, 0.0) for stage in STAGES])
        silent = self._luck[run].random((n, len(STAGES))) < rates
        return np.where(silent.any(1), silent.argmax(1), len(STAGES))

    def metrics(self) -> dict[str, Array]:
        """What is declared in `MEASURES`, each ``(R,)``."""
        per_user = self._bytes / np.maximum(self._users, 1)[:, None]
        return {
            "secagg_bytes_up": per_user[:, 0],
            "secagg_bytes_down": per_user[:, 1],
            "secagg_rounds": self._rounds.copy(),
            "secagg_aborts": self._aborts.copy(),
            **{f"secagg_dropped_{stage}": self._dropped[:, i].copy() for i, stage in enumerate(STAGES)},
        }
