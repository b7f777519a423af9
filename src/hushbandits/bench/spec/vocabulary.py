"""Symbols and names of parameters, and specifications of metrics, for tables and plots.

A parameter that is missing here appears under its name.
"""

from collections.abc import Mapping
from functools import cache

import numpy as np

from hushbandits.core import Array, Metric, Params
from hushbandits.core.wrapper import gathered
from hushbandits.registry import builtin_classes

#: Parameters: the symbol beside a value, and the words along an axis.
PARAMETERS = {
    "epsilon": ("ε", "privacy parameter ε"),
    "delta": ("δ", "failure probability δ"),
    "beta": ("β", "failure probability of one agent β"),
    "eta": ("η", "privacy parameter η"),
    "xi": ("ξ", "corruption ξ"),
    "release_exponent": ("release_exponent", "exponent v"),
    "n_agents": ("agents", "number of agents"),
    "n_arms": ("arms", "number of arms"),
    "max_hops": ("γ", "life of a message γ, in hops"),
    "horizon": ("T", "horizon T"),
    "edge_probability": ("p", "edge probability p"),
    "scale": ("s", "scale s"),
}


@cache
def shipped() -> Mapping[str, Metric]:
    """Return the specifications of all metrics of built-in envs, agents and wrappers, by name.

    They apply to folders that do not declare their metrics.
    """
    return gathered(*builtin_classes())


def agree(metrics: Mapping[str, Array], measures: Mapping[str, Metric]) -> None:
    """Raise ``ValueError`` if a metric that is declared a rate has a value other than 0, 1 and NaN.

    A rate's interval would be wrong then, not merely wide; the other natures only bound what is shown.

    Examples
    --------
    >>> agree({"found": np.array([0.0, 0.5])}, {"found": Metric("share of runs that found it", "rate")})
    Traceback (most recent call last):
        ...
    ValueError: metric 'found' has the value 0.5, but the nature 'rate' allows only 0, 1, NaN; use 'share' or 'measure'
    """
    for name, values in metrics.items():
        if name in measures and measures[name].rate:
            x = np.asarray(values, float)
            if len(strange := x[~(np.isnan(x) | (x == 0) | (x == 1))]):
                why = f"has the value {strange[0]:g}, but the nature 'rate' allows only 0, 1, NaN"
                raise ValueError(f"metric {name!r} {why}; use 'share' or 'measure'")


#: Metrics of which less is better, and of which more is better; the direction of all others is unknown.
_LESS = {"regret", "rounds", "messages", "messages_most", "bits", "bits_per_user", "named", "named_most", "epsilon"}
_MORE = {"correct", "covered"}


def smaller_is_better(name: str) -> bool | None:
    """Return whether smaller values of a metric are better; ``None`` if that is unknown."""
    return True if name in _LESS else False if name in _MORE else None


def symbol(parameter: str) -> str:
    """Return the symbol of a parameter, given with or without prefix.

    Examples
    --------
    >>> symbol("env.epsilon"), symbol("new_one")
    ('ε', 'new one')
    """
    return _parameter(parameter)[0]


def words(parameter: str) -> str:
    """Return the axis label of a parameter."""
    return _parameter(parameter)[1]


def place(point: Params) -> str:
    """Return a point of a sweep as text.

    Examples
    --------
    >>> place({"env.n_agents": 4, "agent.epsilon": 0.5})
    'agents = 4, ε = 0.5'
    """
    return ", ".join(f"{symbol(key)} = {short(value)}" for key, value in point.items())


def short(value: object) -> str:
    """Return a value as text for labels."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _parameter(name: str) -> tuple[str, str]:
    bare = name.rpartition(".")[2]
    return PARAMETERS.get(bare, (bare.replace("_", " "),) * 2)
