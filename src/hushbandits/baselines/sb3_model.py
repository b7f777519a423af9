"""From a model of Stable-Baselines3 in memory to a `Learned`: plain arrays, and what it was shown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NotRequired

import numpy as np
from gymnasium import spaces

from hushbandits.baselines.sb3_choices import CHOICES
from hushbandits.baselines.sb3_file import Learned, heads_of, parts_of, sound
from hushbandits.baselines.sb3_state import OTHER, SCORED, Net, activation, kind_of, network
from hushbandits.core.entries import Model, title
from hushbandits.core.ground.types import Array
from hushbandits.core.task import EARNED, Task

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

__all__ = ["Whole", "arrays", "policy_of", "state_of"]


class Whole(Net):
    """A network with the activation between its layers, and what describes a choice where it scores them singly."""

    activation: str
    features: NotRequired[list[str]]


def arrays(model: BaseAlgorithm) -> tuple[dict[str, Array], Whole]:
    """Return a model's weights by the names of `hushbandits.baselines.sb3_file`, and what its network is."""
    its = model.policy
    cls = type(its)
    if kind_of(cls) is None:
        raise ValueError(f"its policy is a {cls.__module__}.{cls.__name__}, which is not played here; {OTHER}")
    eyes = its.features_extractor_class
    if eyes.__name__ != "FlattenExtractor":
        raise ValueError(f"its observations go through a {eyes.__name__}, which is not played here; {OTHER}")
    action, heads = heads_of(model.action_space)
    weights, found = network(state_of(model), len(heads) if action == "MultiBinary" else 0)
    return weights, {**found, "activation": activation(its.activation_fn.__name__)}


def state_of(model: BaseAlgorithm) -> dict[str, Array]:
    """Return all weights of a model's policy, by the library's names."""
    tensors = model.policy.state_dict()
    return {name: np.array(tensor.detach().cpu().numpy(), np.float32) for name, tensor in tensors.items()}


def policy_of(model: Model) -> Learned:
    """Return what a model does, as it is now.

    Of one that was trained in `hb.make_sb3`, and still has that env, it is known what it was shown, part by part;
    else how wide that is and in which bounds.  A model that is not played here is refused (``ValueError``).
    """
    name = type(model).__name__
    try:
        return _policy_of(model, name)
    except ValueError as error:
        raise ValueError(f"model {name}: {error}") from None


def _policy_of(model: BaseAlgorithm, name: str) -> Learned:
    scaled = model.get_vec_normalize_env() if hasattr(model, "get_vec_normalize_env") else None
    if scaled is not None and scaled.norm_obs:
        raise ValueError(f"its observations go through a VecNormalize, which is not played here; {OTHER}")
    weights, net = arrays(model)
    kind = kind_of(type(model.policy))
    assert kind is not None
    seen, scored = model.observation_space, kind in SCORED.values()
    if not isinstance(seen, spaces.Box) or len(seen.shape) != 1 + scored:
        raise ValueError(f"it was trained with observations in {type(seen).__name__}, and here they are flat arrays")
    action, heads = heads_of(model.action_space)
    policy = Learned(
        algorithm=name, kind=action, heads=heads, layers=tuple(net["layers"]), activation=net["activation"],
        lstm=net["lstm"], deterministic=kind.deterministic, masked=kind.masked, weights=weights,
        bounds=None if scored else (np.array(seen.low, float), np.array(seen.high, float)),
    )  # fmt: skip
    return sound(_at_home(policy, model, scored))


def _at_home(policy: Learned, model: BaseAlgorithm, scored: bool) -> Learned:
    """With what the env of a training tells: setting, env, options of its task, and the parts of an observation."""
    env = model.get_env() if hasattr(model, "get_env") else None
    rows = getattr(getattr(env, "unwrapped", None), "rows", None)
    task = getattr(rows, "task", None)
    if not isinstance(task, Task) or not (scored or task.observation_space == model.observation_space):
        if scored:
            raise ValueError("it scores choices one by one, and only its env says what they are: set_env gives it one")
        return policy
    assert rows is not None
    spec = rows.core.spec
    return replace(
        policy,
        setting=rows.core.setting,
        env={} if spec is None else {"use": title(spec[0]), **spec[1]},
        options={option: value for option, value in rows.options.items() if option not in EARNED},
        parts=parts_of(task),
        features=CHOICES[rows.core.setting] if scored else (),
    )
