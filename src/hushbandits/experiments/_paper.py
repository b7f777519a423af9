"""The function `paper`, which shares fields among the experiments of a paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hushbandits.bench.spec.experiment import Experiment


def paper(name: str, cited: str, **shared: Any) -> Callable[..., Experiment]:
    """Return a function that declares a paper's experiments: ``declare(part, title, where, own=False, **fields)``.

    The source of an experiment and of its claims is `where` in the paper, or our own addition to that.  Its fields
    override the shared ones.

    Examples
    --------
    >>> declare = paper("else1999", "Somebody Else 1999", env="CoopNetwork-v0", agents=["UCB1"], runs=100)
    >>> more = declare("fig2", "Alone", "figure 2", runs=20)
    >>> more.name, more.source, more.runs
    ('else1999-fig2', 'Somebody Else 1999, figure 2', 20)
    """

    def declare(part: str, title: str, where: str, own: bool = False, **fields: Any) -> Experiment:
        source = f"{'own addition to ' if own else ''}{cited}, {where}"
        if own:
            fields["claims"] = [replace(claim, origin="own") for claim in fields.get("claims", ())]
        return Experiment(name=f"{name}-{part}", title=title, source=source, **{**shared, **fields})

    return declare
