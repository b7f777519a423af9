"""What Stable-Baselines3 trained, in memory or as its ``save`` wrote it, as a `Learned`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hushbandits.baselines.sb3_file import Learned, parts_of
from hushbandits.core.entries import Model, title
from hushbandits.core.ground.names import words
from hushbandits.core.ground.types import Array
from hushbandits.core.ground.validate import shown
from hushbandits.core.task import EARNED, Task

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

#: Policies whose networks are played here, and the names of their activations there.
_PLAYED = ("ActorCriticPolicy", "MaskableActorCriticPolicy", "DQNPolicy", "Equivariant", "MaskableEquivariant")
_LIBRARIES = ("stable_baselines3", "sb3_contrib", "hushbandits")
_ACTIVATIONS = {"Tanh": "tanh", "ReLU": "relu"}
#: Weights that decide what is done, and those that training alone needs.
_ACTS = re.compile(r"(mlp_extractor\.policy_net\.\d+|action_net|q_net\.q_net\.\d+)\.(weight|bias)")
_LEARNS = re.compile(r"mlp_extractor\.value_net\.|value_net\.|q_net_target\.")
_OTHER = "hand over hb.Acts of a function that asks it"


def network(state: Mapping[str, Any]) -> dict[str, Array]:
    """Return the weights of a policy's ``state_dict`` by the names of a `Learned`.

    ``ValueError``: the network is not one of the library's own.
    """
    found: dict[str, dict[str, Array]] = {}  # in the order of the layers, the head last
    for name, tensor in state.items():
        if acts := _ACTS.fullmatch(name):
            found.setdefault(acts[1], {})[acts[2]] = np.array(tensor.detach().cpu().numpy(), float)
        elif not _LEARNS.match(name):
            raise ValueError(f"its network is not one of Stable-Baselines3's own: it has {shown(name)}; {_OTHER}")
    names = [*(f"layer{i}" for i in range(len(found) - 1)), "head"][-len(found) :]
    layers = zip(names, found.values(), strict=True)
    return {f"{name}.{part}": array for name, layer in layers for part, array in layer.items()}


def weights_of(model: BaseAlgorithm) -> tuple[dict[str, Array], str]:
    """Return a model's weights, and the name of its activation; ``ValueError``: it is not played here."""
    its = model.policy
    cls, eyes = type(its), its.features_extractor_class.__name__
    if cls.__name__ not in _PLAYED or cls.__module__.partition(".")[0] not in _LIBRARIES:
        raise ValueError(f"its policy is a {cls.__module__}.{cls.__name__}, which is not played here; {_OTHER}")
    if eyes != "FlattenExtractor":
        raise ValueError(f"its observations go through a {eyes}, which is not played here; {_OTHER}")
    if (activation := its.activation_fn.__name__) not in _ACTIVATIONS:
        raise ValueError(f"its layers are of {activation}, which is not played here; {_OTHER}")
    return network(its.state_dict()), _ACTIVATIONS[activation]


def of_model(model: Model) -> Learned:
    """Return what a model does, as it is now.

    Of one that still has its env from `hb.make_sb3` it is known what it was shown, part by part; else how wide that is.
    A model that is not played here is refused (``ValueError``).
    """
    try:
        return _of_model(model)
    except ValueError as error:
        raise ValueError(f"model {type(model).__name__}: {error}") from None


def _of_model(model: BaseAlgorithm) -> Learned:
    scaled = model.get_vec_normalize_env()
    if scaled is not None and scaled.norm_obs:
        raise ValueError(f"its observations go through a VecNormalize, which is not played here; {_OTHER}")
    weights, activation = weights_of(model)
    kind = type(model.policy).__name__
    policy = Learned(
        type(model).__name__, weights, activation, deterministic=kind == "DQNPolicy", masked="Maskable" in kind,
        by_choice="Equivariant" in kind,
    )  # fmt: skip
    rows = getattr(getattr(model.get_env(), "unwrapped", None), "rows", None)
    task = getattr(rows, "task", None)
    if rows is None or not isinstance(task, Task):
        if policy.by_choice:
            raise ValueError("it scores choices one by one, and only its env says what they are: set_env gives it one")
        return policy
    if not policy.by_choice and task.observation_space != model.observation_space:
        return policy  # what it sees is made of several observations
    spec = rows.core.spec
    return replace(
        policy, setting=rows.core.setting, env={} if spec is None else {"use": title(spec[0]), **spec[1]},
        options={name: value for name, value in rows.options.items() if name not in EARNED}, observation=parts_of(task),
    )  # fmt: skip


def of_zip(path: Path, activation: str | None, masked: bool) -> Learned:
    """Read the weights that a model's ``save`` wrote; nothing in the file is run, and nothing else of it is read.

    The library unpickles what else is in it, the spaces and the activation among them, so these are said by others.
    """
    try:
        from stable_baselines3.common.save_util import load_from_zip_file
    except ImportError as error:
        raise ImportError(f"sb3:{path} needs stable-baselines3: pip install 'hushbandits[sb3]' ({error})") from None
    try:
        _, parameters, _ = load_from_zip_file(path, load_data=False, device="cpu")
        values = "q_net.q_net.0.weight" in parameters["policy"]
        made = activation or ("relu" if values else "tanh")
        return Learned(path.name, network(parameters["policy"]), made, deterministic=values, masked=masked)
    except Exception as error:  # damage takes many forms
        raise ValueError(f"policy {path}: {words(error)}") from None
