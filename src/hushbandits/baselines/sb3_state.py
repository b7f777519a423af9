"""The networks that Stable-Baselines3 builds: from the names of its weights to those of a `Learned`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count, takewhile
from typing import TypedDict

import numpy as np

from hushbandits.core.ground.types import Array
from hushbandits.core.ground.validate import shown

__all__ = ["KINDS", "OTHER", "SCORED", "Kind", "Net", "activation", "kind_of", "needed", "network"]


@dataclass(frozen=True)
class Kind:
    """A class of policies.

    Parameters
    ----------
    cls : str
        Its name.
    activation : str
        By default.
    masked, deterministic : bool
        Whether it reads masks; whether it is played without luck.
    """

    cls: str
    activation: str = "tanh"
    masked: bool = False
    deterministic: bool = False


class Net(TypedDict):
    """What a network is besides its weights: widths of its recurrent layer (0: none) and of those after it."""

    lstm: int
    layers: list[int]


#: By the module in which it is.
KINDS = {
    "stable_baselines3.common.policies": Kind("ActorCriticPolicy"),
    "stable_baselines3.dqn.policies": Kind("DQNPolicy", "relu", deterministic=True),
    "sb3_contrib.common.recurrent.policies": Kind("RecurrentActorCriticPolicy"),
    "sb3_contrib.common.maskable.policies": Kind("MaskableActorCriticPolicy", masked=True),
}
#: Those of this package that score choices one by one, by their names.
SCORED = {
    "Equivariant": Kind("Equivariant"),
    "MaskableEquivariant": Kind("MaskableEquivariant", masked=True),
}
#: What to do with another one.
OTHER = "hand over hb.Acts of a function that asks it"

#: Weights that decide what is done, and those that training alone needs.
_ACTS = re.compile(r"mlp_extractor\.policy_net\.|action_net\.|q_net\.|lstm_actor\.")
_LEARNS = re.compile(r"mlp_extractor\.value_net\.|value_net\.|q_net_target\.|lstm_critic\.|critic\.")


def kind_of(cls: type) -> Kind | None:
    """Return what a class of policies is; ``None``: it is not played here."""
    if cls.__module__ == "hushbandits.learning.equivariant":
        return SCORED.get(cls.__name__)
    kind = KINDS.get(cls.__module__)
    return kind if kind is not None and kind.cls == cls.__name__ else None


def activation(name: str) -> str:
    """Return an activation as a policy's file writes it, given its class's name."""
    known = {"Tanh": "tanh", "ReLU": "relu"}
    if name not in known:
        raise ValueError(f"its layers are of {shown(name)}, and only {' or '.join(known)} are played here; {OTHER}")
    return known[name]


def needed(names: Iterable[str]) -> list[str]:
    """Return those weights that decide what is done.

    Examples
    --------
    >>> needed(["action_net.bias", "value_net.bias"])
    ['action_net.bias']
    """
    names = list(names)
    for name in names:
        if not _ACTS.match(name) and not _LEARNS.match(name):
            raise ValueError(f"its network is not one of Stable-Baselines3's own: it has {shown(name)}; {OTHER}")
    return [name for name in names if _ACTS.match(name)]


def network(state: Mapping[str, Array], bits: int) -> tuple[dict[str, Array], Net]:
    """Return weights by the names of `hushbandits.baselines.sb3_file.expected`, and their ``lstm`` and ``layers``.

    Parameters
    ----------
    state : mapping of str to array
        float32, as in the policy's ``state_dict``.
    bits : int
        Of how many an action is; 0: it is of choices.
    """
    left = {name: np.asarray(state[name]) for name in needed(state)}
    weights: dict[str, Array] = {}
    width = 0
    try:
        if any(name.startswith("lstm_actor.") for name in left):
            hidden = left.pop("lstm_actor.weight_hh_l0")
            width = int(hidden.shape[-1])
            weights = {"lstm.input": left.pop("lstm_actor.weight_ih_l0"), "lstm.hidden": hidden}
            weights["lstm.bias"] = left.pop("lstm_actor.bias_ih_l0") + left.pop("lstm_actor.bias_hh_l0")
        body = "q_net.q_net" if any(name.startswith("q_net.") for name in left) else "mlp_extractor.policy_net"
        # an activation stands after each layer, and has no weights
        rows = [f"{body}.{i}" for i in takewhile(lambda i: f"{body}.{i}.weight" in left, count(0, 2))]
        head = rows.pop() if body == "q_net.q_net" else "action_net"
        for name, its in [*((f"layer{i}", its) for i, its in enumerate(rows)), ("head", head)]:
            weights |= {f"{name}.{part}": left.pop(f"{its}.{part}") for part in ("weight", "bias")}
    except (KeyError, IndexError) as error:
        raise ValueError(f"its network is not one of Stable-Baselines3's own: it lacks {error}; {OTHER}") from None
    if left:
        raise ValueError(f"its network is not one of Stable-Baselines3's own: it has {shown(min(left))}; {OTHER}")
    if bits and len(weights["head.bias"]) == bits:  # a bit with the score z is a choice between the scores 0 and z
        for name in ("head.weight", "head.bias"):
            both = np.zeros((2 * len(weights[name]), *weights[name].shape[1:]), np.float32)
            both[1::2] = weights[name]
            weights[name] = both
    return weights, {"lstm": width, "layers": [len(weights[f"layer{i}.bias"]) for i in range(len(rows))]}
