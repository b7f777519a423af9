"""Declarations that say one thing and would do another: refused before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hushbandits.bench.declare.canonical import canonical
from hushbandits.bench.declare.parts import Use
from hushbandits.bench.declare.shapes import lacking
from hushbandits.bench.declare.spec import Experiment
from hushbandits.core.ground.validate import nearest, shown

__all__ = ["check_declared", "given_once", "picked"]


def check_declared(experiment: Experiment) -> None:
    """Raise ``ValueError`` where a declaration's sweep, figures or claims cannot mean what they say.

    Of a variation (``--quick``, ``--set``) figures and claims may pick values that are gone.
    """
    name, sweep = experiment.name, experiment.sweep
    varied = getattr(experiment, "varied", False)  # an InitVar that stays, which type checkers do not know
    for key in ("runs", "wrappers"):  # every env takes these of whoever builds it
        if key in experiment.env.params or f"env.{key}" in sweep:
            raise ValueError(f"{name}: 'env.{key}' is no parameter of the env's; {key} = … of the experiment says it")
    for key in sweep:
        prefix, _, parameter = key.rpartition(".")
        if prefix == "agent":
            lacking(f"{name}: sweep", parameter, [a.name for a in experiment.agents])
    wrappers = [use for uses in experiment._choices().values() for use in uses]
    given_once(f"{name}: sweep", list(sweep), experiment.env, experiment.agents, wrappers)
    for figure in experiment.figures:
        if figure.x not in ("time", "runs", *sweep) and "." in figure.x:  # without a prefix it is a metric
            raise ValueError(
                f"{name}: a figure runs along {shown(figure.x)}, which is not swept{_near(figure.x, sweep)}"
            )
        fixed = {key: [value] for key, value in figure.at.items()}
        picked(f"{name}: a figure", {**fixed, **({figure.by: ()} if figure.by else {})}, sweep, varied)
        if figure.by and figure.by in (figure.x, *figure.at):
            raise ValueError(
                f"{name}: a figure has {figure.by!r} as by= and as x= or at=: one point is left in each panel"
            )
    for claim in experiment.claims:
        picked(f"{name}: claim {claim.sentence!r}", claim.effect.at, sweep, varied)


def given_once(what: str, sweep: Sequence[str], env: Use, agents: Sequence[Use], wrappers: Sequence[Use]) -> None:
    """Raise ``ValueError`` for a swept parameter that is given a value besides, or swept under two names.

    Examples
    --------
    >>> from hushbandits.bench.declare.parts import Use
    >>> given_once("e: sweep", ["env.n_agents"], Use("CoopNetwork-v0", n_agents=4), [], [])
    Traceback (most recent call last):
        ...
    ValueError: e: sweep 'env.n_agents': CoopNetwork-v0 is given n_agents=4 already; leave out one of the two
    """
    by: dict[tuple[int, str], str] = {}
    for key in sweep:
        prefix, _, parameter = key.rpartition(".")
        for use in _named(prefix, env, agents, wrappers):
            if parameter in use.params:
                value = shown(use.params[parameter])
                raise ValueError(
                    f"{what} {shown(key)}: {use.called} is given {parameter}={value} already; leave out one of the two"
                )
            other = by.setdefault((id(use), parameter), key)
            if other != key:
                raise ValueError(f"{what} {shown(key)}: {other!r} sweeps that of {use.name} already; keep one of them")


def _named(prefix: str, env: Use, agents: Sequence[Use], wrappers: Sequence[Use]) -> Iterator[Use]:
    """Whom a prefix names."""
    if prefix == "env":
        yield env
        return
    yield from (a for a in agents if prefix in ("agent", a.name))
    yield from (w for w in wrappers if prefix == w.name)


def picked(
    what: str, at: Mapping[str, Sequence[object]], sweep: Mapping[str, Sequence[object]], varied: bool = False
) -> None:
    """Raise ``ValueError`` where `at` picks a parameter that is not swept, or (unless `varied`) a value of none.

    Examples
    --------
    >>> picked("a figure", {"env.life": [3]}, {"env.life": (1, 2)})
    Traceback (most recent call last):
        ...
    ValueError: a figure picks env.life=3, which the sweep does not take: [1, 2]
    """
    for key, values in at.items():
        if key not in sweep:
            raise ValueError(f"{what} picks values of {shown(key)}, which is not swept{_near(key, sweep)}")
        known = [canonical(v) for v in sweep[key]]
        for value in values:
            if canonical(value) not in known and not varied:
                raise ValueError(
                    f"{what} picks {key}={shown(value)}, which the sweep does not take: {shown(list(sweep[key]))}"
                )


def _near(key: str, known: Mapping[str, object]) -> str:
    return nearest(key, known) if known else ""
