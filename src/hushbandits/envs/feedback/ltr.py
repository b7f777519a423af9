"""Privatized feedback on a learning-to-rank file: arms are clusters of rows, rewards are scaled relevance labels."""

import contextlib
import hashlib
import logging
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import ClassVar

import numpy as np

from hushbandits.core import Array, Fields, Law, Wrapper, integer, shown
from hushbandits.envs.feedback.env import Feedback

_LOG = logging.getLogger("hushbandits")
_LEVELS = 5  # relevance 0..4
_REWARDS = np.arange(_LEVELS) / (_LEVELS - 1)
#: The largest feature of a file; MSLR has 136, Yahoo's set 700.
FEATURES = 100_000
_MOST = 2**30  # values of a file in memory, 4 GiB
_SMALL, _SAMPLE = 2**25, 2**16  # bytes of a file that is hashed whole, and of a sample
_LARGEST = float(np.finfo(np.float32).max)
_PAIR = re.compile(r"([+-]?[0-9]+):([+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|nan|inf))")


def read_svmlight(lines: Iterable[str], name: str = "file") -> tuple[Array, Array]:
    """Return the relevance labels and features of ``rel qid:q f:v f:v … # comment`` lines.

    Parameters
    ----------
    lines : iterable of str
    name : str
        For error messages.

    Returns
    -------
    relevance : (N,) int
        0..4.
    features : (N, F) float32
        Feature f in column f − 1; features missing from a line are 0.

    Raises
    ------
    ValueError
        A malformed line, a feature above `FEATURES`, or more than 2³⁰ values in all.  The message names the line.

    Examples
    --------
    >>> relevance, features = read_svmlight(["2 qid:1 1:0.5 3:1", "0 qid:1 2:4 # a comment"])
    >>> relevance.tolist(), features.tolist()
    ([2, 0], [[0.5, 0.0, 1.0], [0.0, 4.0, 0.0]])
    >>> read_svmlight(["2 qid:1 1:0.5", "1 qid:1 2:x"])
    Traceback (most recent call last):
        ...
    ValueError: file, line 2: '2:x' must have the form feature:value
    """
    labels: list[int] = []
    index: list[int] = []
    column: list[int] = []
    value: list[float] = []
    for number, line in enumerate(lines, 1):
        head, *pairs = line.partition("#")[0].split() or [""]
        if not head:
            continue
        if head not in ("0", "1", "2", "3", "4"):
            raise ValueError(f"{name}, line {number}: relevance {shown(head)} must be one of 0, 1, 2, 3, 4")
        row = _pairs(pairs, f"{name}, line {number}")
        index += [len(labels)] * len(row)
        column += [f - 1 for f in row]
        value += row.values()
        labels.append(int(head))
    if not labels:
        raise ValueError(f"{name} has no rows")
    width = max(column, default=0) + 1
    if len(labels) * width > _MOST:
        raise ValueError(f"{name}: {len(labels):,} rows of {width:,} features exceed the limit of {_MOST:,} values")
    features = np.zeros((len(labels), width), np.float32)
    features[index, column] = value
    return np.array(labels), features


def _pairs(words: Sequence[str], where: str) -> dict[int, float]:
    """Return the features of a line as a dict; `words` are the line's words after the relevance."""
    if words and words[0].startswith("qid:"):
        if not words[0][4:].isdecimal():
            raise ValueError(f"{where}: {shown(words[0])} must have the form qid:number")
        words = words[1:]
    row: dict[int, float] = {}
    for pair in words:
        found = _PAIR.fullmatch(pair)
        if not found:
            raise ValueError(f"{where}: {shown(pair)} must have the form feature:value")
        f, v = int(found[1][:20]), float(found[2])  # 20 digits are enough to exceed the limit
        if f < 1 or not abs(v) <= _LARGEST:
            raise ValueError(f"{where}: {shown(pair)} needs a feature ≥ 1 and a value in the range of float32")
        if f > FEATURES:
            raise ValueError(f"{where}: {shown(pair)} needs a feature ≤ {FEATURES:,}")
        if f in row:
            raise ValueError(f"{where}: feature {f} occurs twice")
        row[f] = v
    return row


def k_means(x: Array, k: int, seed: int = 0, rounds: int = 100) -> Array:
    """Return the cluster of every row, ``(N,)``, by Lloyd's algorithm from k-means++ seeds.

    A cluster that empties starts again at the row farthest from its own centre.
    """
    integer("n_arms", k, 2, len(np.unique(x, axis=0)))
    rng = np.random.default_rng(seed)
    x = x.astype(float)
    norms = (x**2).sum(1)
    chosen = [int(rng.integers(len(x)))]
    nearest = ((x - x[chosen[0]]) ** 2).sum(1)  # exact, so that equal rows have distance 0
    while len(chosen) < k:
        chosen.append(int(rng.choice(len(x), p=nearest / nearest.sum())))
        nearest = np.minimum(nearest, ((x - x[chosen[-1]]) ** 2).sum(1))
    centre = x[chosen]
    own = np.full(len(x), -1)
    for _ in range(rounds):
        to = np.maximum(norms[:, None] - 2 * x @ centre.T + (centre**2).sum(1), 0.0)  # squared distances
        before, own = own, to.argmin(1)
        spare = np.argsort(-to[np.arange(len(x)), own], kind="stable").tolist()
        for empty in np.setdiff1d(np.arange(k), own):
            own[next(row for row in spare if (own == own[row]).sum() > 1)] = empty
            spare = [row for row in spare if own[row] != empty]
        if np.array_equal(own, before):
            break
        counts = np.bincount(own, minlength=k)
        sums = np.zeros_like(centre)
        np.add.at(sums, own, x)
        centre = sums / counts[:, None]
    return own


@dataclass(frozen=True, eq=False)
class Relevance(Law):
    """Reward law of a cluster: relevance/4 of a random row; the location is the cluster's index.

    Parameters
    ----------
    shares : (K, 5) array
        How often relevance 0..4 occurs in each cluster.
    """

    shares: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "locations", (0.0, float(len(self.shares) - 1)))
        object.__setattr__(self, "_cumulative", np.cumsum(self.shares, 1)[:, :-1])

    def quantile(self, u: Array, location: Array) -> Array:
        """Return the rewards for uniform samples `u` of the clusters with the indices `location`."""
        cumulative: Array = self._cumulative[np.asarray(location).astype(int)]  # type: ignore[attr-defined]
        return (np.asarray(u)[..., None] >= cumulative).sum(-1) / (_LEVELS - 1)

    def mean(self, location: Array) -> Array:
        """Return the exact mean rewards of the clusters with the indices `location`."""
        return (self.shares @ _REWARDS)[np.asarray(location).astype(int)]

    def shortfall(self, x: Array, location: float) -> Array:
        """Return ``E (x − X)₊ = Σ_v P(v) (x − v)₊``."""
        return np.maximum(np.asarray(x)[:, None] - _REWARDS, 0.0) @ self.shares[int(location)]


def _mark(path: Path) -> tuple[int | str, ...]:
    """Return a file's inode, size, times and digest; the digest of a large file covers only 64 samples of its bytes.

    A modification time alone is not enough: it can be set back, or stay the same within one tick of the clock.
    """
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        digest = hashlib.sha256()
        if about.st_size <= _SMALL:
            digest.update(file.read())
        else:
            for i in range(64):
                file.seek((about.st_size - _SAMPLE) * i // 63)
                digest.update(file.read(_SAMPLE))
    return about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns, digest.hexdigest()


@lru_cache(maxsize=8)
def _read(path: Path, mark: tuple[int | str, ...]) -> tuple[Array, Array]:
    # invalid UTF-8 is harmless in a comment, and fails to parse as a number elsewhere
    with path.open(encoding="utf-8", errors="replace") as lines:
        return read_svmlight(lines, str(path))


@lru_cache(maxsize=8)
def _shipped() -> tuple[Array, Array]:
    _LOG.warning("LTR-v0 without path= uses the small synthetic file of hushbandits, not a real data set")
    text = resources.files("hushbandits").joinpath("data/ltr-small.txt").read_text(encoding="utf-8")
    return read_svmlight(text.splitlines(), "ltr-small.txt")


@lru_cache(maxsize=16)
def clusters(path: Path | None, n_arms: int, seed: int, mark: tuple[int | str, ...] = ()) -> Relevance:
    """Return the reward law of `n_arms` arms, which are k-means clusters of a file's rows by unscaled features."""
    relevance, features = _shipped() if path is None else _read(path, mark)
    own = k_means(features, n_arms, seed)
    counts = np.bincount(own * _LEVELS + relevance, minlength=n_arms * _LEVELS).reshape(n_arms, _LEVELS)
    return Relevance(counts / counts.sum(1, keepdims=True))


def _file(path: str | Path) -> Path:
    with contextlib.suppress(TypeError, ValueError, RuntimeError):  # no text, a text with a NUL, ~ of nobody
        file = Path(path).expanduser()
        if file.is_file():
            return file
    raise ValueError(f"path={shown(str(path) if isinstance(path, Path) else path)} is not a file")


class LTR(Feedback):
    """A learning-to-rank data set as a bandit: arms are clusters of rows, rewards are relevance/4 of a random row.

    The env has no privacy mechanism: the agent brings a protocol, or `wrappers` contains one.

    Parameters
    ----------
    path : str or Path, optional
        A file in SVMlight format, ``rel qid:q f:v …``, relevance 0 to 4, such as MSLR-WEB10K.  Default: the
        package's small synthetic file; the log and `source` say so.
    n_arms : int, optional
        K of k-means: by default 50 (Chowdhury & Zhou 2023), or 10 for the small file.
    cluster_seed : int
        Seed of k-means; all runs share the same clusters.
    n_agents, horizon, permute_arms, users, wrappers, runs
        As in `Feedback`.

    Raises
    ------
    ValueError
        A malformed line (the message names it), or more arms than distinct rows.

    Examples
    --------
    >>> env = LTR(n_arms=4)
    >>> obs = env.reset(0)
    >>> env.means.shape, env.source
    ((1, 4), 'ltr-small.txt, shipped with hushbandits: made-up rows, not a data set')
    """

    seed_fields: ClassVar[Mapping[str, str]] = {
        name: name for name in ("path", "cluster_seed", "n_agents", "n_arms", "horizon", "permute_arms")
    }

    def __init__(
        self,
        *,
        path: str | Path | None = None,
        n_arms: int | None = None,
        cluster_seed: int = 0,
        n_agents: int = 1,
        horizon: int = 1_000_000,
        permute_arms: bool = True,
        simulate_users: str = "aggregate",
        wrappers: Sequence[Wrapper] = (),
        extra_fields: Fields | None = None,
        fields: Fields | None = None,
        runs: int = 1,
    ):
        file = None if path is None else _file(path)
        arms = integer("n_arms", n_arms if n_arms is not None else (10 if file is None else 50), 2)
        seed = integer("cluster_seed", cluster_seed, 0, math.inf)
        try:
            law = clusters(file, arms, seed, () if file is None else _mark(file))
        except OSError as error:
            raise ValueError(f"path={shown(path)} cannot be read: {(error.strerror or str(error)).lower()}") from None
        #: Where the rows come from.
        self.source = str(file) if file else "ltr-small.txt, shipped with hushbandits: made-up rows, not a data set"
        super().__init__(
            n_agents=n_agents, means=list(range(arms)), rewards=law, horizon=horizon, permute_arms=permute_arms,
            simulate_users=simulate_users, wrappers=wrappers, extra_fields=extra_fields, fields=fields, runs=runs,
        )  # fmt: skip
