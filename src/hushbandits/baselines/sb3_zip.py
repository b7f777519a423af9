"""What ``save`` of Stable-Baselines3 writes, read as a stranger's: a zip of JSON, and of weights in PyTorch's form.

Both hold pickles, which the library's own ``load`` runs.  Nothing is run here.  Of the JSON what is written in the
open is read; of the weights the instructions of their pickle are read one by one, and only those few are understood
that make a table of tensors.
"""

from __future__ import annotations

import io
import math
import os
import pickletools
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hushbandits.baselines.sb3_file import Learned, sound, table, why
from hushbandits.baselines.sb3_state import KINDS, OTHER, activation, needed, network
from hushbandits.core.ground.strangers import opened, parsed
from hushbandits.core.ground.types import Array, Params
from hushbandits.core.ground.validate import shown

__all__ = ["read_zip"]

_LARGEST = 16_000_000  # bytes of the JSON
_LONGEST = 1_000_000  # bytes of the weights' table
_WIDEST = 65_536
#: What is said of a policy's network and does not change what it computes from given weights, or is read elsewhere.
_HARMLESS = {
    "activation_fn", "enable_critic_lstm", "log_std_init", "lstm_hidden_size", "n_lstm_layers", "net_arch",
    "normalize_images", "optimizer_class", "optimizer_kwargs", "ortho_init", "share_features_extractor", "shared_lstm",
    "use_expln", "use_sde",
}  # fmt: skip
_YOURSELF = "if you trust the file, load it yourself and hand over the model, hb.evaluate(id, model)"


def read_zip(path: Path) -> Learned:
    """Read a zip, or raise ``ValueError``: it is none, is damaged, or would have to be run to be read."""
    try:
        with opened(path) as file, zipfile.ZipFile(file) as archive:
            if "policy.pth" not in archive.namelist():
                inside = "; unpack it, and name the folder" if "policy.json" in archive.namelist() else ""
                raise ValueError(f"it is no zip that Stable-Baselines3's save has written{inside}")
            size = os.fstat(file.fileno()).st_size
            told = parsed(_member(archive, "data", min(size, _LARGEST)))
            tensors = _member(archive, "policy.pth", size)
        return _policy(path.name, told, _state(tensors))
    except (OSError, EOFError, RuntimeError, LookupError, TypeError, ValueError, *_DAMAGE) as error:
        raise ValueError(f"policy {path}: {why(error)}") from None


_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError)


def _member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    if (size := archive.getinfo(name).file_size) > most:
        raise ValueError(f"{name} has {size:,} bytes, more than {most:,}")
    return archive.read(name)


# -- the JSON --------------------------------------------------------------------------------------------------------


def _policy(name: str, told: object, state: Mapping[str, Array]) -> Learned:
    data = table("data", told)
    module = table("policy_class", data.get("policy_class")).get("__module__")
    kind = KINDS.get(module) if isinstance(module, str) else None
    if kind is None:
        raise ValueError(f"its policy is of {shown(module)}, which is not played here; {_YOURSELF}")
    if data.get("_last_original_obs") is not None:
        raise ValueError(f"it was trained behind a VecNormalize, whose numbers are not in the zip; {OTHER}")
    options = table("policy_kwargs", data.get("policy_kwargs"))
    for option in options:
        if option not in _HARMLESS and option not in (":type:", ":serialized:"):
            raise ValueError(f"its policy has {shown(option)} of its own, which would have to be run; {_YOURSELF}")
    made = options.get("activation_fn")
    if made is not None:
        found = re.fullmatch(r"<class 'torch\.nn\.modules\.activation\.(\w+)'>", str(made))
        made = activation(found[1] if found else str(made))
    low, high = (_numbers("observation_space", data.get("observation_space"), end) for end in ("low", "high"))
    if low.shape != high.shape:
        raise ValueError("observation_space has lows and highs of different numbers")
    action, heads = _actions(table("action_space", data.get("action_space")))
    weights, net = network(state, len(heads) if action == "MultiBinary" else 0)
    policy = Learned(
        algorithm=name, kind=action, heads=heads, layers=tuple(net["layers"]), activation=made or kind.activation,
        lstm=net["lstm"], deterministic=kind.deterministic, masked=kind.masked, weights=weights, bounds=(low, high),
    )  # fmt: skip
    return sound(policy)


def _numbers(what: str, space: object, name: str) -> Array:
    text = table(what, space).get(name)
    if isinstance(text, str) and "..." in text:
        raise ValueError(f"{what} is written in part; {_YOURSELF}")
    if not isinstance(text, str) or not (row := re.fullmatch(r"\[([-+.\deinf\s]*)\]", text)):
        raise ValueError(f"{what}: {name}={shown(text)} must be a row of numbers; {_YOURSELF}")
    found = np.array(row[1].split(), float)
    if not 1 <= len(found) <= _WIDEST:
        raise ValueError(f"{what}: {name} has {len(found)} numbers, not 1 to {_WIDEST:,}")
    return found


def _actions(space: Params) -> tuple[str, tuple[int, ...]]:
    said = str(space.get(":type:"))
    found = re.fullmatch(r"<class 'gymnasium\.spaces\.\w+\.(Discrete|MultiDiscrete|MultiBinary)'>", said)
    if found is None:
        raise ValueError(f"its actions are in {shown(said)}: they must be Discrete, MultiDiscrete or MultiBinary")
    if found[1] == "MultiDiscrete":
        heads = _numbers("action_space", space, "nvec").tolist()
    else:
        heads = _numbers("action_space", {"n": f"[{space.get('n')}]"}, "n").tolist()
    if set(re.findall(r"\d+", str(space.get("start", "0")))) - {"0"}:
        raise ValueError(f"its actions start at {shown(space['start'])}, and here at 0")
    if not all(1 <= n <= _WIDEST and n == int(n) for n in heads):
        raise ValueError(f"its actions are of {shown(heads)} choices")
    whole = tuple(int(n) for n in heads)
    return found[1], (2,) * whole[0] if found[1] == "MultiBinary" else whole


# -- the weights -----------------------------------------------------------------------------------------------------


class _Stored(NamedTuple):
    """Numbers in a file of their own."""

    name: str


class _Tensor(NamedTuple):
    """A view of them."""

    stored: str
    offset: int
    shape: tuple[int, ...]


class _Name(NamedTuple):
    """What a pickle would import."""

    path: str


_MARK = object()


def _state(content: bytes) -> dict[str, Array]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        table = next((name for name in archive.namelist() if name.endswith("/data.pkl")), None)
        if table is None or sum(entry.file_size for entry in archive.infolist()) > len(content):
            raise ValueError("policy.pth is not as PyTorch's save writes it")
        home = table.removesuffix("data.pkl")
        if f"{home}byteorder" in archive.namelist() and _member(archive, f"{home}byteorder", 16) != b"little":
            raise ValueError("policy.pth was written on a machine with another order of bytes")
        tensors = _tensors(_member(archive, table, _LONGEST))
        names = needed(tensors)
        if sum(4 * math.prod(tensors[name].shape) for name in names) > len(content):
            raise ValueError("policy.pth says that it holds more numbers than it does")
        stored = {tensors[name].stored for name in names}
        contents = {name: archive.read(f"{home}data/{name}") for name in stored}
    return {name: _array(contents[tensors[name].stored], name, tensors[name]) for name in names}


def _array(content: bytes, name: str, tensor: _Tensor) -> Array:
    size = math.prod(tensor.shape)
    if len(content) < 4 * (tensor.offset + size):
        raise ValueError(f"{name} is not as long as its shape {tensor.shape}")
    return np.frombuffer(content, "<f4", size, 4 * tensor.offset).reshape(tensor.shape)


def _tensors(pickled: bytes) -> dict[str, _Tensor]:
    """The table that a pickle would make: its instructions, read one by one."""
    stack: list[object] = []
    memo: dict[object, object] = {}
    for operation, argument, _ in pickletools.genops(pickled):
        match operation.name:
            case "PROTO":
                pass
            case "BINUNICODE" | "BININT" | "BININT1" | "BININT2":
                stack.append(argument)
            case "NEWFALSE" | "NEWTRUE" | "NONE":
                stack.append(None)
            case "GLOBAL":
                stack.append(_Name(str(argument)))
            case "BINPUT" | "LONG_BINPUT":
                memo[argument] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(memo[argument])
            case "MARK":
                stack.append(_MARK)
            case "EMPTY_DICT":
                stack.append({})
            case "EMPTY_TUPLE":
                stack.append(())
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                stack[-int(operation.name[-1]) :] = [tuple(stack[-int(operation.name[-1]) :])]
            case "TUPLE":
                stack.append(tuple(_since_mark(stack)))
            case "SETITEM":
                value, key = stack.pop(), stack.pop()
                _put(stack[-1], [key, value])
            case "SETITEMS":
                _put(stack[-2 - _depth(stack)], _since_mark(stack))
            case "BINPERSID":
                stack.append(_stored(stack.pop()))
            case "REDUCE":
                given, name = stack.pop(), stack.pop()
                stack.append(_made(name, given))
            case "BUILD":
                stack.pop()  # what a state says of itself: the version of each layer
            case "STOP":
                break
            case other:
                raise ValueError(f"policy.pth holds more than weights ({other}); {_YOURSELF}")
    found = stack[-1]
    if not isinstance(found, dict) or not all(isinstance(value, _Tensor) for value in found.values()):
        raise ValueError(f"policy.pth holds something else than weights; {_YOURSELF}")
    return found


def _depth(stack: list[object]) -> int:
    above = next((i for i, value in enumerate(reversed(stack)) if value is _MARK), None)
    if above is None:
        raise ValueError("policy.pth is damaged")
    return above


def _since_mark(stack: list[object]) -> list[object]:
    """Take what lies above the last mark, and the mark."""
    above = len(stack) - _depth(stack)
    found = stack[above:]
    del stack[above - 1 :]
    return found


def _put(table: object, items: list[object]) -> None:
    # Only texts are keys: to hash tuples in tuples may take for ever.
    if not isinstance(table, dict) or not all(isinstance(key, str) for key in items[::2]):
        raise ValueError(f"policy.pth holds something else than weights; {_YOURSELF}")
    table.update(zip(items[::2], items[1::2], strict=True))


def _stored(given: object) -> _Stored:
    """``("storage", FloatStorage, name, device, numbers)``."""
    if isinstance(given, tuple) and len(given) == 5 and isinstance(given[1], _Name) and isinstance(given[2], str):
        if given[1].path != "torch FloatStorage":
            raise ValueError(f"its weights are in {shown(given[1].path)}, not float32; {_YOURSELF}")
        if given[2].isdecimal():
            return _Stored(given[2])
    raise ValueError(f"policy.pth holds something else than weights; {_YOURSELF}")


def _made(name: object, given: object) -> dict[str, object] | _Tensor:
    """What a call would give, of the two that a table of tensors needs."""
    path = name.path if isinstance(name, _Name) else ""
    if path == "collections OrderedDict" and isinstance(given, tuple) and not given:
        return {}
    if path == "torch._utils _rebuild_tensor_v2" and isinstance(given, tuple) and len(given) >= 4:
        stored, offset, shape, stride = given[:4]
        if isinstance(stored, _Stored) and _whole((offset,)) and _whole(shape) and _whole(stride) and len(shape) <= 2:
            if stride != tuple(math.prod(shape[i + 1 :]) for i in range(len(shape))):
                raise ValueError("its weights do not lie in rows")
            return _Tensor(stored.name, offset, shape)
    raise ValueError(f"policy.pth would call {shown(path)}; {_YOURSELF}")


def _whole(numbers: object) -> bool:
    return isinstance(numbers, tuple) and all(type(n) is int and n >= 0 for n in numbers)
