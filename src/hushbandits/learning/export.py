"""From a trained model of Stable-Baselines3 to plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushbandits.core.types import Array

__all__ = ["arrays"]


def arrays(model: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return a model's weights by the names of `hushbandits.baselines.sb3_file`, and what its network is.

    Raises
    ------
    ValueError
        A network other than the algorithms' own: layers of one activation, at most one LSTM before them.
    """
    from torch import nn

    policy = model.policy
    if hasattr(policy, "q_net"):
        *hidden, head = [part for part in policy.q_net.q_net if isinstance(part, nn.Linear)]
        found = [type(part) for part in policy.q_net.q_net if not isinstance(part, nn.Linear)]
    else:
        hidden = [part for part in policy.mlp_extractor.policy_net if isinstance(part, nn.Linear)]
        found = [type(part) for part in policy.mlp_extractor.policy_net if not isinstance(part, nn.Linear)]
        head = policy.action_net
    known = {nn.Tanh: "tanh", nn.ReLU: "relu"}
    if len(set(found)) > 1 or not set(found) <= set(known):
        raise ValueError(f"a policy's layers are of {' or '.join(known.values())}, not {found}")
    weights: dict[str, Array] = {}
    width = 0
    if hasattr(policy, "lstm_actor"):
        lstm = policy.lstm_actor
        if lstm.num_layers != 1:
            raise ValueError(f"a policy has one recurrent layer, not {lstm.num_layers}")
        width = lstm.hidden_size
        weights |= {"lstm.input": _array(lstm.weight_ih_l0), "lstm.hidden": _array(lstm.weight_hh_l0)}
        weights["lstm.bias"] = _array(lstm.bias_ih_l0 + lstm.bias_hh_l0)
    for i, layer in enumerate(hidden):
        weights |= {f"layer{i}.weight": _array(layer.weight), f"layer{i}.bias": _array(layer.bias)}
    weights |= {"head.weight": _array(head.weight), "head.bias": _array(head.bias)}
    if type(policy.action_dist).__name__ == "BernoulliDistribution" if hasattr(policy, "action_dist") else False:
        # a bit with the score z is a choice between the scores 0 and z
        for name in ("head.weight", "head.bias"):
            both = np.zeros((2 * len(weights[name]), *weights[name].shape[1:]), np.float32)
            both[1::2] = weights[name]
            weights[name] = both
    activation = known[found[0]] if found else "tanh"
    return weights, {"lstm": width, "layers": [layer.out_features for layer in hidden], "activation": activation}


def _array(tensor: Any) -> Array:
    value: Array = tensor.detach().cpu().numpy().astype(np.float32)
    return value
