"""A trained policy: its folder, and its network in NumPy.

The folder holds ``card.json``, which says how it is played, and ``weights.npz``, plain arrays.  A run alone does what
it does in a batch, bit for bit.
"""

import json
import math
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path

import numpy as np
from gymnasium import spaces

from hushbandits.baselines.sb3_choices import described
from hushbandits.core import Array, Params, RLTask, Space, Streams, Uniforms, choice, shown

CARD, WEIGHTS = "card.json", "weights.npz"
#: What stands between two layers.
ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0.0)}

#: Name, numbers, low and high of a part of an observation, as JSON has them; ``None``: no bound.
Seen = list[str | float | None]


@dataclass(frozen=True)
class Learned:
    """A trained policy: its network and the task that it was trained on.

    Parameters
    ----------
    algorithm : str
        What trained it, or the name of its file.
    weights : mapping of str to array
        ``layer0.weight`` (width, inputs), ``layer0.bias``, …, ``head.weight`` (outputs, width), ``head.bias``.
    activation : str
        ``"tanh"`` or ``"relu"``.
    deterministic, masked : bool
        Whether it takes the likeliest action; whether it takes only those that count.
    by_choice : bool
        Whether it scores choices one by one, by what describes each (`hushbandits.baselines.sb3_choices`).
    setting : str
        Which it plays; empty: any in which its numbers fit.
    env, options : mapping
        The env of its training, ``{"type": id, …}``, and the options of its task; empty: not known.
    observation : sequence of Seen
        The parts of what it was shown; empty: not known.
    two_phase : bool
        Whether each phase of a round was a step in training.
    card : mapping
        All of ``card.json``.

    Raises
    ------
    ValueError
        Weights that do not follow on each other, or are not finite.
    """

    algorithm: str
    weights: Mapping[str, Array]
    activation: str
    deterministic: bool = False
    masked: bool = False
    by_choice: bool = False
    setting: str = ""
    env: Params = field(default_factory=dict)
    options: Params = field(default_factory=dict)
    observation: Sequence[Seen] = ()
    two_phase: bool = False
    card: Params = field(default_factory=dict)

    def __post_init__(self) -> None:
        choice("activation", self.activation, ACTIVATIONS)
        before = None
        for weight, bias in self.layers:
            if weight.ndim != 2 or bias.shape != weight.shape[:1] or before not in (None, weight.shape[1]):
                after = "" if before is None else f" after a layer with {before} outputs"
                raise ValueError(f"layers do not fit: weights {weight.shape}, bias {bias.shape}{after}")
            if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
                raise ValueError("all weights and biases must be finite numbers")
            before = weight.shape[0]

    @property
    def layers(self) -> list[tuple[Array, Array]]:
        """Return the weight and bias of each layer, from the first layer to the head."""
        names = [*(f"layer{i}" for i in range(len(self.weights) // 2 - 1)), "head"]
        return [(self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]) for name in names]


def parts_of(task: RLTask) -> list[Seen]:
    """Return name, size, lower bound and upper bound of each part of an agent's observation in `task`."""
    low, high = task.observation_space.low, task.observation_space.high

    def bound(values: Array) -> float | None:
        return float(values[0]) if len(values) and math.isfinite(values[0]) else None

    return [[name, at.stop - at.start, bound(low[at]), bound(high[at])] for name, at in task.layout.items()]


def heads_of(space: Space) -> tuple[int, ...]:
    """Return the number of choices in each component of an action; of a ``Box``, how many numbers it has.

    Other spaces raise ``ValueError``.

    Examples
    --------
    >>> heads_of(spaces.Discrete(3)), heads_of(spaces.MultiDiscrete([3, 2])), heads_of(spaces.MultiBinary(2))
    ((3,), (3, 2), (2, 2))
    """
    if isinstance(space, spaces.Discrete):
        return (int(space.n),)
    if isinstance(space, spaces.MultiDiscrete):
        return tuple(int(n) for n in space.nvec)
    if isinstance(space, spaces.MultiBinary):
        return (2,) * int(np.prod(space.shape))
    if isinstance(space, spaces.Box):
        return (int(np.prod(space.shape)),)
    raise ValueError(f"a policy's action space must be Discrete, MultiDiscrete, MultiBinary or Box, not {space}")


def read(folder: str | Path) -> Learned:
    """Read a policy from `folder`, without running code; raise ``ValueError`` if a file is missing or invalid."""
    if not isinstance(folder, str | Path):
        raise ValueError(f"folder={shown(folder)} must be a path")
    path = Path(folder).expanduser()
    try:
        card = json.loads((path / CARD).read_text("utf-8"))
        with (path / WEIGHTS).open("rb") as file, np.load(file, allow_pickle=False) as weights:
            return learned(card, {name: weights[name].astype(float) for name in weights.files})
    except OSError as error:
        raise ValueError(f"there is no policy in {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"the policy in {path} is damaged ({type(error).__name__}: {error})") from None


def learned(card: Params, weights: Mapping[str, Array]) -> Learned:
    """Return the policy that `card` describes, with the weights `weights`."""
    said = {part.name: card[part.name] for part in fields(Learned) if part.name not in ("weights", "card")}
    return Learned(**said, weights=weights, card=card)


class Network:
    """A player that chooses the actions of a trained policy in R runs.

    Every run is one product of matrices of its own, whose shape does not depend on the others.

    Parameters
    ----------
    policy : Learned
    deterministic : bool, optional
        Take the likeliest action; default: what the policy says.
    """

    def __init__(self, policy: Learned, deterministic: bool | None = None):
        self.policy = policy
        self.deterministic = policy.deterministic if deterministic is None else deterministic
        if policy.by_choice and policy.deterministic and not self.deterministic:
            raise ValueError("deterministic=False is not allowed: this policy takes the choice with the highest score")
        self._layers = [(np.ascontiguousarray(weight.T), bias) for weight, bias in policy.layers]

    def reset(self, rng: Streams) -> None:
        """Start R new runs, which draw from `rng`."""
        self._rng = rng
        self._reader: Uniforms | None = None

    def logits(self, seen: Array) -> Array:
        """Return scores of all choices, ``(R, A, …, C)``, for observations ``(R, A, …, D)``."""
        x: Array = np.ascontiguousarray(seen, float)
        between = ACTIVATIONS[self.policy.activation]
        for i, (weight, bias) in enumerate(self._layers):
            x = np.matmul(between(x) if i else x, weight) + bias
        return x

    def act(self, task: RLTask, pull: bool = True, talk: bool = True) -> Array:
        """Return all agents' actions in the next step, ``(R, M)`` or ``(R, M, parts)``.

        Only those are asked whose action counts; the others' is 0.
        """
        everyone, space, who = task.observe(pull, talk), task.action_space, task.obs.active_agents
        rows, heads = np.arange(len(who))[:, None], heads_of(space)
        seen = everyone[rows, who]
        lots = heads[0] if self.policy.by_choice else 0
        uniforms = self._uniforms(seen.shape[1], lots + (0 if self.deterministic else len(heads)))
        scores = self.logits(described(task, seen, uniforms[..., :lots])) if lots else self.logits(seen)
        if lots:  # first the first outputs of all choices
            scores = scores.swapaxes(-1, -2).reshape(*scores.shape[:-2], -1)
        if isinstance(space, spaces.Box):  # the mean, as numbers that are drawn would cost more
            return np.clip(scores, space.low, space.high).astype(space.dtype)
        if scores.shape[-1] != sum(heads):  # a bit with the score z is a choice between the scores 0 and z
            scores = np.stack([np.zeros_like(scores), scores], -1).reshape(*scores.shape[:2], -1)
        if self.policy.masked:
            scores = np.where(task.mask()[rows, who], scores, -np.inf)
        parts = [scores[..., a:b] for a, b in pairwise(np.cumsum([0, *heads]))]
        if self.deterministic:
            taken = [part.argmax(-1) for part in parts]
        else:
            taken = [drawn(part, uniforms[..., lots + i]) for i, part in enumerate(parts)]
        action = np.zeros((*everyone.shape[:2], *(space.shape or ())), np.int64)
        action[rows, who] = np.stack(taken, -1) if space.shape else taken[0]
        return action

    def _uniforms(self, agents: int, numbers: int) -> Array:
        if self._reader is None:
            self._reader = self._rng.reader((agents, numbers))
        return self._reader.next()


def drawn(scores: Array, uniforms: Array) -> Array:
    """Return choices drawn from the softmax of `scores`, ``(…, C)``, with one uniform number per draw."""
    total = np.cumsum(np.exp(scores - scores.max(-1, keepdims=True)), -1)
    # Below the last value, however it was rounded: what cannot be taken is not.
    at = np.minimum(uniforms * total[..., -1], np.nextafter(total[..., -1], 0.0))
    return (total <= at[..., None]).sum(-1)
