"""The folder of a trained policy: ``card.json``, which says how it is played, and ``weights.npz``, plain arrays."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from gymnasium import spaces

from hushbandits.core.actions import Space
from hushbandits.core.ground.types import Array, Params
from hushbandits.core.ground.validate import choice, shown
from hushbandits.core.task import Task

CARD, WEIGHTS = "card.json", "weights.npz"
#: What stands between two layers.
ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0.0)}

#: Name, numbers, low and high of a part of an observation; ``None``: no bound.
Seen = tuple[str, int, float | None, float | None]


@dataclass(frozen=True)
class Learned:
    """A trained policy: its network, and the game that it was trained in.

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
        The env of its training, ``{"use": id, …}``, and the options of its task; empty: not known.
    observation : sequence of Seen
        The parts of what it was shown; empty: not known.
    beats : int
        Of the game that it was trained in: 1, a round is one step; 2, a beat is.
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
    observation: tuple[Seen, ...] = ()
    beats: int = 1
    card: Params = field(default_factory=dict)

    def __post_init__(self) -> None:
        choice("activation", self.activation, ACTIVATIONS)
        before = None
        for weight, bias in self.layers:
            if weight.ndim != 2 or bias.shape != weight.shape[:1] or before not in (None, weight.shape[1]):
                raise ValueError(f"its layers do not follow on each other: {weight.shape}, {bias.shape} after {before}")
            if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
                raise ValueError("its weights are not finite")
            before = weight.shape[0]

    @property
    def layers(self) -> list[tuple[Array, Array]]:
        """Weights and biases from the first layer to the head."""
        names = [*(f"layer{i}" for i in range(len(self.weights) // 2 - 1)), "head"]
        return [(self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]) for name in names]

    @property
    def inputs(self) -> int:
        """How many numbers it reads at once."""
        return int(self.layers[0][0].shape[1])

    @property
    def outputs(self) -> int:
        """How many scores it gives at once."""
        return len(self.weights["head.bias"])


def parts_of(task: Task) -> tuple[Seen, ...]:
    """Return what an agent is shown in a task: equal for two envs in which one policy can play."""
    low, high = task.observation_space.low, task.observation_space.high

    def bound(values: Array) -> float | None:
        return float(values[0]) if len(values) and math.isfinite(values[0]) else None

    return tuple((name, at.stop - at.start, bound(low[at]), bound(high[at])) for name, at in task.layout.items())


def heads_of(space: Space) -> tuple[int, ...]:
    """Return how many choices each part of an action has; ``ValueError``: it is not made of choices.

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
    raise ValueError(f"a policy has no actions in {space}: they must be Discrete, MultiDiscrete or MultiBinary")


def read(folder: str | Path) -> Learned:
    """Read a policy; ``ValueError`` says what its folder lacks.  Nothing in it is run."""
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
        raise ValueError(f"policy {path}: {type(error).__name__}: {error}") from None


def learned(card: Params, weights: Mapping[str, Array]) -> Learned:
    """Return the policy that a card describes."""
    seen = tuple((name, width, low, high) for name, width, low, high in card["observation"])
    return Learned(
        algorithm=card["algorithm"], weights=weights, activation=card["activation"], observation=seen, card=card,
        deterministic=card["deterministic"], masked=card["masked"], by_choice=card["by_choice"],
        setting=card["setting"], env=card["env"], options=card["options"], beats=card["beats"],
    )  # fmt: skip
