"""How metrics and parameters are written in tables and plots; one line each.

A metric or parameter that is missing here works all the same, under its own name.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COUNTS", "METRICS", "PARAMETERS", "REALS", "Metric", "metric", "smaller_is_better", "symbol", "words"]


@dataclass(frozen=True)
class Metric:
    """How a metric is written.

    Parameters
    ----------
    label : str
        For axes and tables.
    rate : bool
        0 or 1 per run: its mean is a share, its interval Clopper–Pearson's.
    """

    label: str
    rate: bool = False


#: Metrics by the name that an env gives them.
METRICS = {
    "rounds": Metric("rounds until the stop"),
    "correct": Metric("share of runs that are correct", rate=True),
    "inconclusive": Metric("share of runs that are inconclusive", rate=True),
    "messages": Metric("messages sent"),
    "arms": Metric("arms left"),
    "named": Metric("how often an observer of one agent names the best arm"),
    "named_most": Metric("how often an observer of the agent that told most names the best arm"),
    "regret": Metric("pseudo-regret of all agents"),
    "users": Metric("users"),
    "bits": Metric("bits sent by users"),
    "bits_per_user": Metric("bits sent per user"),
    "covered": Metric("share of runs whose estimates stay within their radius", rate=True),
    "uncalibrated": Metric("share of runs with a radius made for another mechanism", rate=True),
    "epsilon": Metric("ε spent by the worst user"),
}

#: Metrics that count something (a rate: 0 or 1 per run): integers wherever rows are written.
COUNTS = frozenset(
    {name for name, known in METRICS.items() if known.rate} | {"rounds", "messages", "arms", "users", "bits"}
)
#: Metrics that measure something: floats, whole or not.
REALS = frozenset({*METRICS, "delta", "epsilon_delta", "epsilon_lemma"} - COUNTS)

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


def metric(name: str) -> Metric:
    """Return how `name` is written.

    Examples
    --------
    >>> metric("correct").rate, metric("new_one").label
    (True, 'new one')
    """
    return METRICS.get(name) or Metric(name.replace("_", " "))


#: Metrics of which less is better, and of which more: what is in neither is not judged by size.
_LESS = frozenset({"regret", "rounds", "messages", "bits", "bits_per_user", "named", "named_most", "epsilon"})
_MORE = frozenset({"correct", "covered"})


def smaller_is_better(name: str) -> bool | None:
    """Whether less of a metric is better, or more; ``None``: nobody has said.

    Examples
    --------
    >>> smaller_is_better("regret"), smaller_is_better("correct"), smaller_is_better("new_one")
    (True, False, None)
    """
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
    """Return how a parameter is written along an axis.

    Examples
    --------
    >>> words("env.n_agents")
    'number of agents'
    """
    return _parameter(parameter)[1]


def _parameter(name: str) -> tuple[str, str]:
    bare = name.rpartition(".")[2]
    return PARAMETERS.get(bare, (bare.replace("_", " "),) * 2)
