"""Messages: the fields of a message, the inbox of an agent, and the observation after a phase.

A message is a dict of arrays ``(R, A, …)``, one row per run and acting agent.  Its fields are declared, so
that a missing field is refused when env and team are built, not in round 10,000.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from hushbandits.core.utils import LARGEST_NUMBER, Array


@dataclasses.dataclass(frozen=True)
class Field:
    """Declaration of one field of a message: its shape, dtype and range.

    Parameters
    ----------
    shape : tuple of int
        Its shape behind the ``(R, A)`` axes.
    dtype : str
        Its NumPy dtype.
    latest : bool
        A *state*: a receiver goes by the last value that reached it (a published mean, an instruction).
        Otherwise an *event*: each message counts once (a reward).
    per_arm : bool
        One such value per arm: the env, which knows K, puts an axis of that length in front.
    low, high : number, optional
        Closed range of its values; by default all that the dtype holds, floats within ±1e100.  An env narrows it
        (arms are 0..K − 1), so two fields are equal whatever their ranges.

    Raises
    ------
    ValueError
        A dtype other than bits, integers and floats; a shape that is not a tuple of integers ≥ 0.

    Examples
    --------
    >>> Field(dtype="i8", high=9) == Field(dtype="i8")
    True
    """

    shape: tuple[int, ...] = ()
    dtype: str = "f8"
    latest: bool = False
    low: float | None = dataclasses.field(default=None, compare=False)
    high: float | None = dataclasses.field(default=None, compare=False)
    per_arm: bool = False

    def __post_init__(self) -> None:
        try:
            kind, least, most = _held(self.dtype)
        except TypeError:
            raise ValueError(
                f"dtype={self.dtype!r} of a field must be bits ('?'), integers ('i8') or floats ('f8')"
            ) from None
        if not isinstance(self.shape, tuple) or any(not isinstance(n, (int, np.integer)) or n < 0 for n in self.shape):
            raise ValueError(f"shape={self.shape!r} of a field must be a tuple of integers ≥ 0")
        of: type[float] = float if kind.kind == "f" else int
        span = of(least if self.low is None else self.low), of(most if self.high is None else self.high)
        if span[0] > span[1]:
            raise ValueError(f"low={span[0]:g} of a field must be at most high={span[1]:g}")
        # Worked out once: a field is read in every phase.
        for name, value in (("form", kind), ("range", span)):
            object.__setattr__(self, name, value)

    #: Its dtype, and its lowest and highest value.
    form: np.dtype[np.generic] = dataclasses.field(init=False, repr=False, compare=False)
    range: tuple[float, float] = dataclasses.field(init=False, repr=False, compare=False)

    def sized(self, n_arms: int) -> "Field":
        """Return the field with a leading axis of size `n_arms` if it is declared `per_arm`, otherwise unchanged."""
        if not self.per_arm:
            return self
        return dataclasses.replace(self, shape=(n_arms, *self.shape), per_arm=False)


@lru_cache(maxsize=64)
def _held(dtype: str) -> tuple[np.dtype[np.generic], float, float]:
    """Return `dtype`, and the least and the largest value of a message field of that dtype.

    Other dtypes than bits, integers and floats raise ``TypeError``.
    """
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        return kind, int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    if kind.kind not in "bf":
        raise TypeError(dtype)
    most = min(LARGEST_NUMBER, float(np.finfo(kind).max)) if kind.kind == "f" else 1
    return kind, -most if kind.kind == "f" else 0, most


Fields = Mapping[str, Field]


@lru_cache(maxsize=64)
def index_field(n: int) -> "Field":
    """Return the field for an index in 0..n − 1."""
    return Field(dtype="i8", low=0, high=n - 1)


class Inbox(ABC):
    """The messages that reached the acting agents in this round.

    Indexing gathers a field as ``(R, A, S, …)``; the reductions never build that array.  One that an inbox does not
    offer raises ``ValueError``, and the sentence says what is offered.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_batched("CoopNetwork-v0", n_agents=3, graph="complete", horizon=10)
    >>> obs = env.reset(hb.spawn_seeds(0, 1))
    >>> obs = env.pull(np.zeros((1, 3), int))
    >>> inbox = env.communicate(None).inbox
    >>> inbox.fields, inbox["reward"].shape[:2]
    (('arm', 'reward', 'sender'), (1, 3))
    >>> inbox.arrived.sum(-1).tolist()  # messages that each agent got
    [[2, 2, 2]]
    """

    fields: tuple[str, ...]

    @property
    @abstractmethod
    def arrived(self) -> Array:
        """``(R, A, S)`` bool: whether each slot holds a message."""

    @abstractmethod
    def __getitem__(self, field: str) -> Array:
        """Return the values of `field` in every slot, ``(R, A, S, …)``; empty slots hold 0 (``sender``: −1)."""

    def total(self, field: str, weight: str | None = None) -> Array:
        """Return the sum of `field` over the slots, ``(R, A, …)``; with `weight`, sum the products of both fields."""
        raise ValueError(f"this inbox has no totals of {field!r}; its fields: {', '.join(self.fields)}")

    def mix(self, field: str, matrix: Array) -> Array:
        """Return ``Σ_w P_mw x_w``, the average of `field` with the weights P = `matrix`, ``(R, A, …)``."""
        raise ValueError(f"this inbox has no averages of {field!r}; its fields: {', '.join(self.fields)}")

    #: Fields that agents see in place of their own rewards (`Wrapper.own_reward_field`): by field, (R, A, …).
    own: Mapping[str, Array] = {}

    def of(self, sender: Array, field: str) -> tuple[Array, Array]:
        """Return `field` from one `sender` per run at each agent, ``(R, A, …)``, and the mask of the receivers."""
        raise ValueError(f"this inbox does not identify senders; its fields: {', '.join(self.fields)}")

    def at(self, receiver: Array, field: str) -> tuple[Array, Array]:
        """Return `field` in all slots of one `receiver` per run, ``(R, S, …)``, and the mask of filled slots."""
        raise ValueError(f"this inbox does not identify receivers; its fields: {', '.join(self.fields)}")

    def tally(self) -> tuple[Array, Array]:
        """Return pull counts and reward sums per arm, each ``(R, A, K)``."""
        raise ValueError(f"this inbox has no tally per arm; its fields: {', '.join(self.fields)}")


@dataclasses.dataclass(slots=True)
class Observation:
    """Observation of the acting agents of all runs after a phase.

    Parameters
    ----------
    t : (R,) int
        Rounds completed so far (users, in feedback).
    running : (R,) bool
        Which runs go on; the others are frozen rows, and what is done for them is ignored.
    active_agents : (R, A) int
        The acting agents.
    reward : (R, A, …) float or None
        After `pull`, the agents' own rewards (NaN where nothing is seen); ``None`` otherwise, and
        where rewards are withheld.
    inbox : Inbox or None
        What arrived, after `communicate`; at the start of an episode ``None``.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_batched("CoopNetwork-v0", n_agents=3, horizon=10)
    >>> obs = env.reset(hb.spawn_seeds(0, 1))
    >>> obs.t.tolist(), obs.running.tolist(), obs.active_agents.tolist(), obs.reward is None
    ([0], [True], [[0, 1, 2]], True)
    """

    t: Array
    running: Array
    active_agents: Array
    reward: Array | None = None
    inbox: Inbox | None = None
