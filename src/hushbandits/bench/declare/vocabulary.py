"""How parameters are written in tables and plots, one line each; metrics are declared where they are measured.

A parameter that is missing here works all the same, under its own name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from hushbandits.core import Params
from hushbandits.core.metric import Metric, gathered
from hushbandits.registry import builtin_classes

__all__ = ["PARAMETERS", "place", "shipped", "short", "smaller_is_better", "symbol", "words"]


#: Parameters: how they are written beside a value, and in words along an axis.
PARAMETERS = {
    "epsilon": ("ε", "privacy parameter ε"),
    "delta": ("δ", "failure probability δ"),
    "beta": ("β", "failure probability of one agent β"),
    "eta": ("η", "privacy parameter η"),
    "xi": ("ξ", "corruption ξ"),
    "v": ("v", "exponent v"),
    "n_agents": ("agents", "number of agents"),
    "n_arms": ("arms", "number of arms"),
    "life": ("γ", "life of a message γ, in hops"),
    "horizon": ("T", "horizon T"),
    "edge_probability": ("p", "edge probability p"),
    "scale": ("s", "scale s"),
}


@cache
def shipped() -> Mapping[str, Metric]:
    """Return what the metrics are of envs, agents and wrappers that ship, by name.

    For folders that do not say it themselves.
    """
    return MappingProxyType(gathered(*builtin_classes()))


#: Metrics of which less is better, and of which more: what is in neither is not judged by size.
_LESS = frozenset(
    {"regret", "rounds", "messages", "messages_most", "bits", "bits_per_user", "named", "named_most", "epsilon"}
)
_MORE = frozenset({"correct", "covered"})


def smaller_is_better(name: str) -> bool | None:
    """Whether less of a metric is better, or more; ``None`` where that is not declared."""
    return True if name in _LESS else False if name in _MORE else None


def symbol(parameter: str) -> str:
    """Return how a parameter, which may carry a prefix, is written beside a value.

    Examples
    --------
    >>> symbol("env.epsilon"), symbol("new_one")
    ('ε', 'new one')
    """
    return _parameter(parameter)[0]


def words(parameter: str) -> str:
    """Return how a parameter is written along an axis."""
    return _parameter(parameter)[1]


def place(point: Params) -> str:
    """Return a point of a sweep in words.

    Examples
    --------
    >>> place({"env.n_agents": 4, "agent.epsilon": 0.5})
    'agents = 4, ε = 0.5'
    """
    return ", ".join(f"{symbol(key)} = {short(value)}" for key, value in point.items())


def short(value: object) -> str:
    """Return how a value is written in labels."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _parameter(name: str) -> tuple[str, str]:
    bare = name.rpartition(".")[2]
    return PARAMETERS.get(bare, (bare.replace("_", " "),) * 2)
