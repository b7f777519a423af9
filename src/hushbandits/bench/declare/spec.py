"""Experiments as data: env × wrappers × agents × sweep, and the cells that they expand to."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from hushbandits.bench.declare import shapes
from hushbandits.bench.declare.canonical import canonical, digest, plain, thaw
from hushbandits.bench.declare.claim import Claim
from hushbandits.bench.declare.effects import Line
from hushbandits.bench.declare.parts import Figure, Use, named
from hushbandits.bench.declare.shapes import plain_name
from hushbandits.bench.declare.vocabulary import symbol
from hushbandits.bench.declare.world import seeds, world
from hushbandits.core.ground.keywords import keywords
from hushbandits.core.ground.types import Params, Seeds
from hushbandits.core.ground.validate import integer, shown

__all__ = ["Cell", "Experiment", "Figure", "Use"]


@dataclass(frozen=True)
class Cell:
    """One agent in one env: what runs are repeated of.

    Its `key` names what is played, not where it stands; its `world` is the env part that the run seeds come from.
    """

    env: Use
    wrappers: tuple[Use, ...]
    agent: Use
    world: str
    checkpoints: int | Sequence[int] | None
    #: Legend entry: the agent's label (and the wrappers', where they vary).
    line: str
    #: Values of the sweep, by parameter.
    point: Params

    @cached_property
    def spec(self) -> dict[str, object]:
        """All that decides its numbers."""
        return {
            "env": {"use": self.env.name, **self.env.params},
            "wrappers": [{"use": w.name, **w.params} for w in self.wrappers],
            "agent": {"use": self.agent.name, **self.agent.params},
            "checkpoints": self.checkpoints,
            "world": self.world,
        }

    @cached_property
    def key(self) -> str:
        """SHA-256 of the canonical JSON of `spec`."""
        return digest(self.spec)

    @property
    def label(self) -> str:
        """Line and point in words."""
        return ", ".join([self.line, *(f"{symbol(k)} = {_short(v)}" for k, v in self.point.items())])

    def seeds(self, seed: int, first: int, runs: int) -> Seeds:
        """Seeds of runs `first` … of this cell; they depend on `seed` and the env part alone."""
        return seeds(seed, self.world, first, runs)


@keywords
@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A declaration: who plays what, how often, and what is shown.

    Parameters
    ----------
    name, title, source : str
        What to call it, what it shows, and the paper's figure.
    env : Use or str
        The env; a text is a name without parameters, here and below.
    agents : sequence of Use or str
        The agents; all of them face the same runs.
    wrappers : sequence of Use or str, or mapping of str to such a sequence
        On messages' way, outermost first; a mapping crosses several choices with everything else, by label.
    sweep : mapping of str to sequence
        Parameters ``env.…``, ``agent.…`` (all agents, which must take it) or ``NAME.…`` (the agents or wrappers of
        that name; the other lines stand there for comparison) and the values that they take; several are crossed.
        What is swept is given nowhere else.
    paired : sequence of str
        Env parameters whose values share seeds, such as ``"life"``: runs that differ in nothing else then meet the
        same arms, graphs and rewards, and claims compare them in pairs.
    runs : int
        Runs per cell.
    luck : str
        A name under which its runs draw from seeds of their own, for claims to be judged on runs that nobody has seen.
        Default: the runs of every other experiment with such an env.
    checkpoints : int or sequence of int, optional
        Where curves are sampled, in the env's clock: that many points evenly spaced in the logarithm up to the
        horizon, or these.  Default: 50; none where runs end by themselves (most of exploration).
    metrics : sequence of str
        Metrics of the printed table; all scalar metrics are stored.
    figures : sequence of Figure
        Panels of the picture.
    claims : sequence of Claim
        What the paper says about it.
    quick : mapping
        Overrides of ``--quick``: ``runs``, ``checkpoints``, and parameters as in `sweep` (a list replaces a
        sweep).
    varied : bool
        Whether it varies another declaration (``--quick``, ``--set``); it is not part of the data.

    Raises
    ------
    ValueError
        A part that is not what is said here, or contradicts another one; the sentence names it.

    Examples
    --------
    >>> small = Experiment(
    ...     name="small", title="Does sharing pay?", env=Use("CoopNetwork-v0", horizon=100),
    ...     agents=(Use("Multi-UCB"), Use("UCB1")), sweep={"env.n_agents": (4, 16)}, metrics=("regret",))
    >>> [cell.label for cell in small.cells()]
    ['Multi-UCB, agents = 4', 'UCB1, agents = 4', 'Multi-UCB, agents = 16', 'UCB1, agents = 16']
    """

    name: str
    title: str
    env: Use
    agents: Sequence[Use]
    source: str = ""
    wrappers: Sequence[Use] | Mapping[str, Sequence[Use]] = ()
    sweep: Mapping[str, Sequence[object]] = field(default_factory=dict)
    paired: Sequence[str] = ()
    runs: int = 20
    luck: str = ""
    checkpoints: int | Sequence[int] | None = None
    metrics: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    claims: Sequence[Claim] = ()
    quick: Params = field(default_factory=dict)
    #: Whether it is a variation: values that its figures and claims pick may be gone then.  No part of the data.
    varied: InitVar[bool] = False

    def __post_init__(self, varied: bool) -> None:
        plain_name("experiment name", self.name)
        object.__setattr__(self, "varied", varied)
        env, choices = self.env, self.wrappers
        object.__setattr__(self, "env", Use(env) if isinstance(env, str) else env)
        object.__setattr__(self, "agents", named(self.agents))
        by_label = {k: named(v) for k, v in choices.items()} if isinstance(choices, Mapping) else named(choices)
        object.__setattr__(self, "wrappers", by_label)
        shapes.check(Experiment, {f.name: getattr(self, f.name) for f in fields(self)}, f"experiment {self.name}")
        object.__setattr__(self, "runs", integer(f"experiment {self.name}: runs", self.runs, 1))
        if not self.agents:
            raise ValueError(f"experiment {self.name} has no agents")
        if isinstance(self.wrappers, Mapping) and not self.wrappers:
            raise ValueError(f"experiment {self.name}: wrappers={{}} must be a list, or name at least one choice")
        self._check_sweep()
        object.__setattr__(self, "sweep", {k: thaw(plain(list(v))) for k, v in self.sweep.items()})
        object.__setattr__(self, "quick", thaw(plain(self.quick)))
        if self.checkpoints is not None:
            what, at = f"experiment {self.name}: checkpoints", self.checkpoints
            at = tuple(integer(what, c, 0) for c in at) if isinstance(at, Sequence) else integer(what, at, 0)
            object.__setattr__(self, "checkpoints", at)
        for f in ("agents", "metrics", "figures", "claims", "paired"):
            object.__setattr__(self, f, tuple(getattr(self, f)))
        given = [*self.env.params, *(k[4:] for k in self.sweep if k.startswith("env."))]
        for parameter in self.paired:
            if parameter not in given:
                raise ValueError(f"experiment {self.name}: paired={parameter!r} is no env parameter given here")
        lines = self.lines()
        for label in lines:
            if lines.count(label) > 1:
                raise ValueError(f"experiment {self.name}: two lines are called {label!r}; give them a label=")
        object.__setattr__(
            self, "claims", tuple(replace(c, effect=c.effect.naming(self._line_of)) for c in self.claims)
        )

    def _check_sweep(self) -> None:
        names = self._names()
        shapes.swept(f"experiment {self.name}: sweep", self.sweep, names)
        shapes.swept(f"experiment {self.name}: quick", self.quick, names, ("runs", "checkpoints"))
        for parameter, values in self.sweep.items():
            what = f"experiment {self.name}: sweep {parameter}"
            if not shapes.sequence(values) or not values:
                raise ValueError(f"{what}={shown(values)} must list values")
            texts = [canonical(v) for v in values]
            if twice := [t for t in texts if texts.count(t) > 1] if len(set(texts)) < len(texts) else []:
                raise ValueError(f"{what} lists {shown(values[texts.index(twice[0])])} twice")

    # -- lines and cells --------------------------------------------------------------------------------------

    def _choices(self) -> dict[str, tuple[Use, ...]]:
        if isinstance(self.wrappers, Mapping):
            return {label: tuple(uses) for label, uses in self.wrappers.items()}
        return {"": tuple(self.wrappers)}

    def _names(self) -> list[str]:
        wrappers = [w.name for uses in self._choices().values() for w in uses]
        return [*(a.name for a in self.agents), *wrappers]

    def _line_of(self, line: Line) -> Line:
        """A claim's line by its label, or by a mapping that holds it."""
        if not isinstance(line, Use):
            if not isinstance(line, Mapping) or not isinstance(line.get("agent"), Use):
                return line
            return {**line, "agent": self._line_of(line["agent"])}
        if line not in self.agents:
            raise ValueError(f"experiment {self.name}: a claim is about {line.to_dict()}, which is none of its agents")
        found = [label for label, agent, _ in self._lines if agent == line]
        if len(found) > 1:
            label, names = _labels(self.agents)[list(self.agents).index(line)], ", ".join(map(repr, found))
            raise ValueError(f"experiment {self.name}: a claim is about {label!r} under several wrappers: name {names}")
        return found[0]

    def lines(self) -> list[str]:
        """Legend entries: agents × wrapper choices."""
        return [label for label, *_ in self._lines]

    @cached_property
    def _lines(self) -> list[tuple[str, Use, tuple[Use, ...]]]:
        labels = _labels(self.agents)
        return [
            (f"{label} · {choice}" if choice else label, agent, uses)
            for choice, uses in self._choices().items()
            for agent, label in zip(self.agents, labels, strict=True)
        ]

    def cells(self) -> list[Cell]:
        """All cells, in the order of the declaration."""
        return self._cells

    @cached_property
    def _cells(self) -> list[Cell]:
        points = [dict(zip(self.sweep, combo, strict=True)) for combo in itertools.product(*self.sweep.values())]
        found = []
        for point in points:
            env = _aimed(self.env, point, "env")
            where = world(env.name, env.params, self.paired, self.luck)
            for line, agent, uses in self._lines:
                wrappers = tuple(_aimed(w, point, w.name) for w in uses)
                on = env if agent.on is None else Use(agent.on, **env.params)
                played = _aimed(agent, point, "agent", agent.name)
                found.append(Cell(on, wrappers, played, where, self.checkpoints, line, point))
        return found

    # -- as data ----------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, object]:
        """As in a TOML file; fields at their defaults are left out."""
        table = {f.name: _told(getattr(self, f.name)) for f in fields(self)}
        kept = ("checkpoints",) if self.checkpoints == () else ()  # that there are none is said
        return {key: value for key, value in table.items() if key in kept or value not in (None, "", [], {})}

    @classmethod
    def from_dict(cls, table: Params) -> Experiment:
        """Inverse of `to_dict`; unknown names in `table` raise ``ValueError`` with the nearest ones."""
        if not shapes.mapping(table):
            raise ValueError(f"an experiment must be a table, not {shown(table)}")
        table = dict(table)
        name = plain_name("experiment name", table["name"]) if "name" in table else "?"
        shapes.swallowed(f"experiment {name}", table)
        shapes.table(f"experiment {name}", table, [f.name for f in fields(cls)], ("name", "env", "agents"))
        if table.get("title", "") == "":  # said to be empty, or not said
            table["title"] = name
        try:
            table["env"] = Use.from_dict(table["env"])
            table["agents"] = _uses("agents", table["agents"])
            wrappers = table.get("wrappers", ())
            if isinstance(wrappers, Mapping):
                table["wrappers"] = {k: _uses(f"wrappers.{k}", v) for k, v in wrappers.items()}
            else:
                table["wrappers"] = _uses("wrappers", wrappers)
            table["figures"] = tuple(map(Figure.from_dict, shapes.tables("figures", table.get("figures", ()))))
            table["claims"] = tuple(map(Claim.from_dict, shapes.tables("claims", table.get("claims", ()))))
        except (ValueError, TypeError) as error:
            raise type(error)(f"experiment {name}: {error}") from None
        return cls(**table)

    # -- variations -------------------------------------------------------------------------------------------

    def overriding(self, changes: Params) -> Experiment:
        """Return the experiment with other values.

        Parameters
        ----------
        changes : mapping
            ``runs``, ``checkpoints``, or parameters named as in `sweep`.  A list or tuple under the name of
            a swept parameter replaces its sweep; any other value is its sweep's only one.
        """
        experiment = self
        for key, value in changes.items():
            experiment = experiment._override(key, value)
        return experiment

    def _override(self, key: str, value: Any) -> Experiment:
        known = ("runs", "checkpoints")
        if key in known:
            return replace(self, **{key: value})
        what = f"experiment {self.name}: cannot set"
        shapes.swept(what, [key], self._names(), known)
        prefix, _, parameter = key.rpartition(".")
        sweep = dict(self.sweep)
        if key in sweep:
            values = tuple(value) if isinstance(value, (list, tuple)) else (value,)
            return replace(self, sweep={**sweep, key: values}, varied=True)
        if prefix == "agent":
            shapes.lacking(what, parameter, [a.name for a in self.agents])
        point = {key: value}
        env = _aimed(self.env, point, "env")
        agents = tuple(_aimed(a, point, "agent", a.name) for a in self.agents)
        choices = {label: tuple(_aimed(w, point, w.name) for w in uses) for label, uses in self._choices().items()}
        wrappers = choices if isinstance(self.wrappers, Mapping) else choices[""]
        return replace(self, env=env, agents=agents, wrappers=wrappers, sweep=sweep, varied=True)

    def quickly(self) -> Experiment:
        """Return the small version of ``--quick``: `quick`'s overrides, else at most 5 runs."""
        return self.overriding(self.quick or {"runs": min(self.runs, 5)})

    def joined_by(self, agents: Iterable[Use | str]) -> Experiment:
        """Return the experiment with more `agents`."""
        return replace(self, agents=(*self.agents, *named(tuple(agents))))


def _aimed(use: Use, point: Params, *prefixes: str) -> Use:
    mine = {}
    for key, value in point.items():
        prefix, _, parameter = key.rpartition(".")
        if prefix in prefixes:
            mine[parameter] = value
    return use.having(**mine) if mine else use


def _labels(agents: Sequence[Use]) -> list[str]:
    """Labels of the agents: the given one, else the name and the parameters that differ among its namesakes."""
    labels = []
    for agent in agents:
        # An agent beyond its guarantees is marked wherever it is named.
        mark = " (uncalibrated)" if agent.params.get("calibrated") is False else ""
        if agent.label:
            labels.append(agent.label + mark)
            continue
        namesakes = [a for a in agents if a.name == agent.name and not a.label]
        names = dict.fromkeys(k for a in namesakes for k in a.params if k != "calibrated")
        differ = [k for k in names if len({canonical(a.params.get(k)) for a in namesakes}) > 1]
        told = [f"{symbol(k)} = {_short(agent.params[k])}" for k in differ if k in agent.params]
        labels.append(" ".join([agent.name.rpartition(":")[2], ", ".join(told)]).strip() + mark)
    return labels


def _told(value: object) -> object:
    """`plain`, of parts too."""
    if isinstance(value, (Use, Figure, Claim)):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_told(part) for part in value]
    if isinstance(value, Mapping):
        return {key: _told(part) for key, part in value.items()}
    return plain(value)


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _uses(key: str, parts: object) -> tuple[Use, ...]:
    return tuple(map(Use.from_dict, shapes.tables(key, parts)))
