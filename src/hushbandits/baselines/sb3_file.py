"""A folder with a trained policy: ``policy.json`` and one ``.npz`` of weights, checked as a stranger's.

Nothing in it is run: JSON and plain arrays, whose names, shapes and types follow from what ``policy.json`` says.
"""

from __future__ import annotations

import math
import os
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from gymnasium import spaces

from hushbandits.baselines.sb3_choices import CHOICES
from hushbandits.core.actions import Space
from hushbandits.core.ground.limits import affordable
from hushbandits.core.ground.strangers import opened, parsed
from hushbandits.core.ground.types import Array, Params
from hushbandits.core.ground.validate import choice, flag, integer, shown
from hushbandits.core.task import EARNED, Task

__all__ = [
    "ALGORITHMS",
    "FILE",
    "FORMAT",
    "Learned",
    "expected",
    "heads_of",
    "parts_of",
    "read",
    "sound",
    "table",
    "understood",
    "why",
]

FILE = "policy.json"
FORMAT = 1
ALGORITHMS = ("ppo", "dqn", "a2c", "recurrent-ppo", "maskable-ppo", "es")
_LARGEST = 16_000_000  # bytes of policy.json
_WIDEST, _DEEPEST = 65_536, 16
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,80}\.npz")

#: Name, numbers, low and high of a part of an observation; ``None``: no bound.
Seen = tuple[str, int, float | None, float | None]


@dataclass(frozen=True)
class Learned:
    """What a folder holds, a zip, or a model in memory.

    Parameters
    ----------
    algorithm, setting : str
        What trained it, and the setting that it plays; empty: not known.
    env : mapping
        Of its training, ``{"use": id, …}``; empty: not known.
    options : mapping
        Of its task, those that decide what it sees and does.
    parts : tuple of Seen
        What it was shown; empty: `bounds` are all that is known.
    kind, heads : str, tuple of int
        Its action space's class, and the number of choices of each part of an action.
    layers : tuple of int
        Widths of its hidden layers.
    activation : str
        ``"tanh"`` or ``"relu"``.
    lstm : int
        Width of the recurrent layer before them; 0: none.
    deterministic, masked : bool
        Whether it takes the likeliest action; whether it takes only those that count.
    beats : int
        Of the game that it was trained in: 1, a round is one step; 2, a beat is.
    weights : mapping of str to array
    told : mapping
        All of ``policy.json``.
    bounds : tuple of two arrays, optional
        ``(D,)`` each, lows and highs of what it was shown; a folder says them in its `parts`.
    features : tuple of str
        The numbers by which it scores each choice (`hushbandits.baselines.sb3_choices`), whatever K is; empty: it
        scores all choices at once, from the whole observation.
    """

    algorithm: str
    kind: str
    heads: tuple[int, ...]
    layers: tuple[int, ...]
    activation: str
    lstm: int
    deterministic: bool
    masked: bool
    weights: Mapping[str, Array]
    setting: str = ""
    env: Params = field(default_factory=dict)
    options: Params = field(default_factory=dict)
    parts: tuple[Seen, ...] = ()
    beats: int = 1
    told: Params = field(default_factory=dict)
    bounds: tuple[Array, Array] | None = None
    features: tuple[str, ...] = ()

    @property
    def inputs(self) -> int:
        """D, how many numbers it was shown, or how many describe a choice."""
        if self.features:
            return len(self.features)
        return sum(width for _, width, _, _ in self.parts) if self.bounds is None else len(self.bounds[0])

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of its weights, by name."""
        return expected(self.inputs, self.lstm, self.layers, 1 if self.features else sum(self.heads))


def parts_of(task: Task) -> tuple[Seen, ...]:
    """Return what an agent is shown in a task: equal for two envs in which one policy can play."""
    low, high = task.observation_space.low, task.observation_space.high

    def bound(values: Array) -> float | None:
        return float(values[0]) if len(values) and math.isfinite(values[0]) else None

    return tuple((name, at.stop - at.start, bound(low[at]), bound(high[at])) for name, at in task.layout.items())


def heads_of(space: Space) -> tuple[str, tuple[int, ...]]:
    """Return an action space's class, and how many choices each part of an action has."""
    if isinstance(space, spaces.Discrete):
        return "Discrete", (int(space.n),)
    if isinstance(space, spaces.MultiDiscrete):
        return "MultiDiscrete", tuple(int(n) for n in space.nvec)
    if isinstance(space, spaces.MultiBinary):
        return "MultiBinary", (2,) * int(np.prod(space.shape))
    raise ValueError(f"a policy has no actions in {space}: they must be Discrete, MultiDiscrete or MultiBinary")


def expected(inputs: int, lstm: int, layers: tuple[int, ...], choices: int) -> dict[str, tuple[int, ...]]:
    """Return the arrays of a network, by name, with their shapes.

    Examples
    --------
    >>> expected(5, 0, (4,), 3)
    {'layer0.weight': (4, 5), 'layer0.bias': (4,), 'head.weight': (3, 4), 'head.bias': (3,)}
    """
    shapes: dict[str, tuple[int, ...]] = {}
    if lstm:
        shapes |= {"lstm.input": (4 * lstm, inputs), "lstm.hidden": (4 * lstm, lstm), "lstm.bias": (4 * lstm,)}
    before = lstm or inputs
    for i, width in enumerate(layers):
        shapes |= {f"layer{i}.weight": (width, before), f"layer{i}.bias": (width,)}
        before = width
    return {**shapes, "head.weight": (choices, before), "head.bias": (choices,)}


def read(folder: str | Path) -> Learned:
    """Read a policy, or raise ``ValueError`` with what breaks its format."""
    if not isinstance(folder, str | Path) or "\0" in str(folder):
        raise ValueError(f"folder={shown(folder)} must be a path")
    path = Path(folder).expanduser()
    told = _told(path / FILE)
    try:
        policy = understood(told)
        name = told.get("weights")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(f"weights={shown(name)} must be the name of an .npz file beside it")
        affordable("its network", 16.0 * sum(math.prod(shape) for shape in policy.shapes.values()))
        return sound(replace(policy, weights=_arrays(path / name, policy.shapes)))
    except ValueError as error:
        raise ValueError(f"policy {path}: {error}") from None


def _told(path: Path) -> Params:
    try:
        with opened(path) as file:
            text = file.read(_LARGEST + 1)
    except OSError as error:
        raise ValueError(
            f"there is no policy in {path.parent}: {FILE}: {(error.strerror or str(error)).lower()}"
        ) from None
    try:
        if len(text) > _LARGEST:
            raise ValueError(f"more than {_LARGEST // 1_000_000} MB")
        told = parsed(text)
    except ValueError as error:
        raise ValueError(f"{path} is no JSON of a policy: {error}") from None
    if not isinstance(told, dict):
        raise ValueError(f"{path} must be a table, not {shown(told)}")
    return told


def understood(told: Mapping[str, object]) -> Learned:
    """Return what ``policy.json`` says, without weights; ``ValueError`` says what it lacks."""
    version = told.get("format")
    if version != FORMAT or isinstance(version, bool):
        raise ValueError(f"format={shown(version)} is not one that this version reads, {FORMAT}")
    net, action = table("network", told.get("network")), table("action", told.get("action"))
    env, options = table("env", told.get("env")), table("options", told.get("options"))
    if not isinstance(env.get("use"), str) or not env["use"].isprintable() or len(env["use"]) > 200:
        raise ValueError(f"env={shown(env)} must name an env as use")
    for name in options:
        if not name.isidentifier() or name in EARNED:
            raise ValueError(f"options={shown(name)} must name what a learner sees or how its actions are written")
    setting = _word("setting", told.get("setting"))
    features = tuple(map(str, _list("network.features", net.get("features", []), 0, 64)))
    if features and (features != CHOICES.get(setting) or net.get("lstm") or action.get("kind") != "Discrete"):
        raise ValueError(
            f"network.features={shown(list(features))} must be those of the {setting} setting, for one choice at a "
            f"time and no memory: {', '.join(CHOICES.get(setting, ()))}"
        )
    return Learned(
        algorithm=choice("algorithm", told.get("algorithm"), ALGORITHMS),
        setting=setting,
        features=features,
        env=env,
        options=options,
        parts=tuple(map(_part, _list("observation", told.get("observation"), 1, 256))),
        kind=choice("action.kind", action.get("kind"), ("Discrete", "MultiDiscrete", "MultiBinary")),
        heads=_sizes("action.heads", action.get("heads"), 1, 4096),
        layers=_sizes("network.layers", net.get("layers"), 0, _DEEPEST),
        activation=choice("network.activation", net.get("activation"), ("relu", "tanh")),
        lstm=integer("network.lstm", net.get("lstm"), 0, _WIDEST),
        deterministic=flag("deterministic", told.get("deterministic")),
        masked=flag("masked", told.get("masked")),
        beats=integer("beats", told.get("beats"), 1, 2),
        weights={},
        told=told,
    )


def why(error: Exception) -> str:
    """Return what is wrong with a file, without its path and the error's number.

    Examples
    --------
    >>> why(OSError(2, "No such file", "a")), why(EOFError())
    ('No such file', 'EOFError')
    """
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return said or type(error).__name__


def sound(policy: Learned) -> Learned:
    """Return a policy with weights as they are played, if these fit it and are finite; else ``ValueError``."""
    for name, shape in policy.shapes.items():
        array = policy.weights.get(name)
        if array is None or array.shape != shape:
            its = "missing" if array is None else f"of shape {array.shape}"
            raise ValueError(f"{name} is {its}, not of shape {shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds numbers that are not finite")
    return replace(policy, weights={name: policy.weights[name].astype(float) for name in policy.shapes})


def _word(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= 200:
        raise ValueError(f"{name}={shown(value)} must be a word")
    return value


def table(name: str, value: object) -> Params:
    """Return `value` if it is a table with texts for keys, as JSON has them; else raise ``ValueError``."""
    if not isinstance(value, dict):
        raise ValueError(f"{name}={shown(value)} must be a table")
    return value


def _list(name: str, value: object, low: int, high: int) -> list[object]:
    if not isinstance(value, list) or not low <= len(value) <= high:
        raise ValueError(f"{name}={shown(value)} must be a list of {low} to {high} parts")
    return value


def _sizes(name: str, value: object, low: int, high: int) -> tuple[int, ...]:
    return tuple(integer(name, size, 1, _WIDEST) for size in _list(name, value, low, high))


def _part(row: object) -> Seen:
    def fine(x: object) -> bool:
        return x is None or (isinstance(x, (int, float)) and not isinstance(x, bool))

    if isinstance(row, list) and len(row) == 4 and isinstance(row[0], str) and fine(row[2]) and fine(row[3]):
        return row[0], integer(f"observation {row[0]!r}", row[1], 0, _WIDEST), row[2], row[3]
    raise ValueError(f"observation: {shown(row)} must be a name, a number of numbers, and their bounds")


#: Bytes that a file and each of its arrays may have besides their numbers: NumPy writes some hundreds.
_FRAME = 4096


def _arrays(path: Path, shapes: dict[str, tuple[int, ...]]) -> dict[str, Array]:
    most = sum(4 * math.prod(shape) + _FRAME for shape in shapes.values()) + _FRAME
    try:
        with opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > most:
                raise ValueError(f"{path.name} has {size:,} bytes, more than its network's arrays can take, {most:,}")
            with zipfile.ZipFile(file) as archive:
                found = sorted(archive.namelist())
                if found != sorted(f"{name}.npy" for name in shapes):
                    names = [name.removesuffix(".npy") for name in found]
                    raise ValueError(f"{path.name} holds {shown(names)}, not {', '.join(shapes)}")
                content = sum(entry.file_size for entry in archive.infolist())
                if content > size:  # compressed, or the same bytes under several names
                    raise ValueError(
                        f"{path.name} of {size:,} bytes would unpack to {content:,}; numpy.savez writes it"
                    )
                return {name: _array(archive, name, shape) for name, shape in shapes.items()}
    except (OSError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path.name} cannot be read: {why(error)}") from None


_HEADER = re.compile(
    r"\{'descr': '([^']{1,20})', 'fortran_order': (True|False), 'shape': \(((?:\d{1,9}, ?)*(?:\d{1,9})?)\), \} *\n"
)


def _array(archive: zipfile.ZipFile, name: str, shape: tuple[int, ...]) -> Array:
    size = 4 * math.prod(shape)
    with archive.open(f"{name}.npy") as file:
        start = file.read(10)
        if start[:8] != b"\x93NUMPY\x01\x00" or len(start) < 10:
            raise ValueError(f"{name} is of another version of NumPy's format")
        # A header is a literal of Python's; what NumPy writes needs no parser, and no parser is asked.
        header = file.read(int.from_bytes(start[8:], "little")).decode("latin-1")
        if (said := _HEADER.fullmatch(header)) is None:
            raise ValueError(f"{name} has a header that is not NumPy's: {shown(header)}")
        its = tuple(int(n) for n in said[3].replace(" ", "").split(",") if n)
        if its != shape or said[1] != "<f4" or said[2] != "False":
            kind = {"<f4": "float32", "<f8": "float64", "|O": "object"}.get(said[1], shown(said[1]))
            raise ValueError(f"{name} is {kind} of shape {its}, not float32 of shape {shape}")
        content = file.read(size + 1)
    if len(content) != size:
        raise ValueError(f"{name} is not as long as its shape {shape}")
    return np.frombuffer(content, "<f4").reshape(shape)
