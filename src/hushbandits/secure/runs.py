"""Secure sums of many cohorts in R runs: whose keys, who drops out, and what it all costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hushbandits.core import Array, Measure, Seeds, probability, set_rows, shown, streams
from hushbandits.secure.bonawitz import STAGES, SecureSum, agreed
from hushbandits.secure.primitives import needed

#: What `Cohorts.metrics` measures.
MEASURES = {
    "secagg_bytes_up": Measure("bytes that a user sends per secure sum", "amount"),
    "secagg_bytes_down": Measure("bytes that a user gets per secure sum", "amount"),
    "secagg_rounds": Measure("rounds of secure sums", "count"),
    "secagg_aborts": Measure("secure sums that were aborted", "count"),
    **{f"secagg_dropped_{stage}": Measure(f"users that dropped out at stage {stage}", "count") for stage in STAGES},
}


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
            words.append(
                f"it tells all of them the same survivors: in a cohort of {least} or more a lie reads an input"
            )
        if k is not None:
            words.append("those who answer and do not collude hang together as neighbours")
        words.append("X25519, HKDF-SHA256 and ChaCha20 cannot be broken")
        if self.insecure_seed:
            words.append("keys follow from the run's seed: a simulation")
        return tuple(words)

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
    _counts: Array  # users, rounds, aborts, who dropped out where

    def __init__(self, protocol: Protocol, name: str, seeds: Seeds):
        self._protocol, self._name = protocol, name
        self.reset(seeds)

    def reset(self, seeds: Seeds, rows: Array | None = None) -> None:
        """Start R new runs, or the runs `rows` while the others go on."""
        n, name = len(seeds), self._name
        set_rows(
            self, rows, _keys=streams(seeds, f"{name}/keys"), _luck=streams(seeds, f"{name}/drops"),
            _bytes=np.zeros((n, 2)), _counts=np.zeros((n, 3 + len(STAGES)), np.int64),
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
        dropped = np.bincount(stage, minlength=len(STAGES) + 1)[:-1]
        self._counts[run] += n, outcome.rounds, outcome.total is None, *dropped
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
        users, *counts = self._counts.T.copy()
        return dict(zip(MEASURES, (*(self._bytes.T / np.maximum(users, 1)), *counts), strict=True))
