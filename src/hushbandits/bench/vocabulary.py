"""How metrics and parameters are written in tables and plots; one line each.

A metric or parameter that is missing here works all the same, under its own name.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["METRICS", "SYMBOLS", "Metric", "metric", "symbol"]


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
    "regret": Metric("group pseudo-regret"),
    "users": Metric("users"),
    "bits": Metric("bits sent per user"),
}

#: Parameters that have a symbol.
SYMBOLS = {
    "epsilon": "ε",
    "delta": "δ",
    "beta": "β",
    "eta": "η",
    "xi": "ξ",
    "v": "v",
    "n_agents": "N",
    "n_arms": "K",
    "life": "γ",
    "horizon": "T",
    "edge_probability": "p",
    "scale": "s",
    "rate": "rate",
}


def metric(name: str) -> Metric:
    """Return how `name` is written.

    Examples
    --------
    >>> metric("correct").rate, metric("new_one").label
    (True, 'new one')
    """
    return METRICS.get(name) or Metric(name.replace("_", " "))


def symbol(parameter: str) -> str:
    """Return the symbol of a parameter, which may carry a prefix (``env.n_agents``).

    Examples
    --------
    >>> symbol("env.n_agents")
    'N'
    """
    name = parameter.rpartition(".")[2]
    return SYMBOLS.get(name, name)
