"""Conversion of Stable-Baselines3 models, in memory or saved, to a `Learned`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hushbandits.baselines.learned import Learned, parts_of
from hushbandits.core import Array
from hushbandits.core.task import EARNED
from hushbandits.core.utils import words

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from torch import Tensor

#: Policies whose networks are played here, and the names of their activations there.
_PLAYED = ("ActorCriticPolicy", "MaskableActorCriticPolicy", "DQNPolicy", "Equivariant", "MaskableEquivariant")
_LIBRARIES = ("stable_baselines3", "sb3_contrib", "hushbandits")
_ACTIVATIONS = {"Tanh": "tanh", "ReLU": "relu"}
#: Weights that decide what is done, and those that training alone needs.
_ACTS = re.compile(r"(mlp_extractor\.policy_net\.\d+|action_net|q_net\.q_net\.\d+)\.(weight|bias)")
_LEARNS = re.compile(r"mlp_extractor\.value_net\.|value_net\.|q_net_target\.")


def _refused(what: str) -> ValueError:
    return ValueError(f"{what}; use hb.FromFunction with a function that calls the model")


def network(state: Mapping[str, Tensor]) -> dict[str, Array]:
    """Return the weights in a policy's ``state_dict`` under the names that `Learned` uses.

    ``ValueError``: the network is not one of the library's own.
    """
    found: dict[str, dict[str, Array]] = {}  # in the order of the layers, the head last
    for name, tensor in state.items():
        if acts := _ACTS.fullmatch(name):
            found.setdefault(acts[1], {})[acts[2]] = np.array(tensor.detach().cpu().numpy(), float)
        elif not _LEARNS.match(name):
            raise _refused(f"a network with the weights {name!r} is not supported")
    names = [*(f"layer{i}" for i in range(len(found) - 1)), "head"][-len(found) :]
    layers = zip(names, found.values(), strict=True)
    return {f"{name}.{part}": array for name, layer in layers for part, array in layer.items()}


def weights_of(model: BaseAlgorithm) -> tuple[dict[str, Array], str]:
    """Return a model's weights and the name of its activation, or raise ``ValueError`` for unsupported models."""
    its = model.policy
    cls, eyes, activation = type(its), its.features_extractor_class.__name__, its.activation_fn.__name__
    if cls.__name__ not in _PLAYED or cls.__module__.partition(".")[0] not in _LIBRARIES:
        raise _refused(f"a policy of class {cls.__module__}.{cls.__name__} is not supported")
    if eyes != "FlattenExtractor" or activation not in _ACTIVATIONS:
        raise _refused(f"features extractor {eyes} with activation {activation} is not supported")
    return network(its.state_dict()), _ACTIVATIONS[activation]


def of_model(given: BaseAlgorithm) -> Learned:
    """Return a `Learned` with a model's current weights.

    Of one that still has its env from `hb.make_sb3` it is known what it was shown, part by part; else how wide that is.
    A model that is not played here is refused (``ValueError``).
    """
    scaled = given.get_vec_normalize_env()
    if scaled is not None and scaled.norm_obs:
        raise _refused("a model with observations normalized by VecNormalize is not supported")
    weights, activation = weights_of(given)
    kind = type(given.policy).__name__
    policy = Learned(
        type(given).__name__, weights, activation, deterministic=kind == "DQNPolicy", masked="Maskable" in kind,
        by_choice="Equivariant" in kind,
    )  # fmt: skip
    rows = getattr(getattr(given.get_env(), "unwrapped", None), "rows", None)
    if policy.by_choice and rows is None:
        raise ValueError(
            f"a model with policy {kind} needs an env, which defines the choices: "
            f"call model.set_env(venv) with an env from hb.make_sb3"
        )
    if rows is None or (not policy.by_choice and rows.task.observation_space != given.observation_space):
        return policy
    spec = rows.core.spec
    env = {} if spec is None else {"type": getattr(spec[0], "__name__", spec[0]), **spec[1]}
    return replace(
        policy, setting=rows.core.setting, env=env,
        options={name: value for name, value in rows.options.items() if name not in EARNED},
        observation=parts_of(rows.task),
    )  # fmt: skip


def of_zip(path: Path, activation: str | None, masked: bool) -> Learned:
    """Return a `Learned` with the weights in the zip file `path` of a saved model; no code of the file is run.

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
        raise ValueError(f"the policy in {path} cannot be read: {words(error)}") from None
