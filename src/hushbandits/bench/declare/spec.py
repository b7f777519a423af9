"""Experiments as data: env × wrappers × agents × sweep, and the cells that they expand to."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from hushbandits.bench.declare.canonical import canonical, digest, world
from hushbandits.bench.declare.claim import Claim, Line
from hushbandits.bench.declare.parts import Count, Figure, Part, Use, check, plain_name
from hushbandits.bench.declare.vocabulary import place, short, symbol
from hushbandits.core import Params, Seeds, shown, spawn_seeds
from hushbandits.core.random.world import seed_text
from hushbandits.core.utils import nearest
from hushbandits.registry import ENVS

__all__ = ["Cell", "Experiment", "Figure", "Use"]


@dataclass(frozen=True)
class Cell:
    """One agent in one env: what runs are repeated of.

    Its `key` names what is played, not where it stands; `world` is the env part of the key.
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
    #: The env that its seeds come from, the parameters that do not enter them, and a name that does.
    home: Use
    paired: tuple[str, ...] = ()
    seed_group: str = ""

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
        return ", ".join(filter(None, [self.line, place(self.point)]))

    @cached_property
    def seed_text(self) -> str:
        """What of it enters its seeds (`hushbandits.core.random.world.seed_text`)."""
        spec = ENVS.find(self.home.name)
        params = {**spec.defaults, **self.home.params}
        return seed_text(spec.load(), params, self.paired, self.seed_group)

    @property
    def shared_runs(self) -> str:
        """Return a text that is equal for cells which share runs; it imports no user-defined env class."""
        return self.world if ":" in self.home.name else self.seed_text

    def seeds(self, seed: int, first: int, runs: int) -> Seeds:
        """Return the seeds of runs `first` … of this cell."""
        return spawn_seeds(seed, runs, first, self.seed_text)


@dataclass(frozen=True, kw_only=True)
class Experiment(Part):
    """A declaration: who plays what, how often, and what is shown.

    Parameters
    ----------
    name, title, source : str
        What to call it, what it shows (default: its name), and the paper's figure.
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
    title: str = ""
    env: Use
    agents: Sequence[Use]
    source: str = ""
    wrappers: Sequence[Use] | Mapping[str, Sequence[Use]] = ()
    sweep: Mapping[str, Sequence[object]] = field(default_factory=dict)
    paired: Sequence[str] = ()
    runs: Count = 20
    luck: str = ""
    checkpoints: int | Sequence[int] | None = None
    metrics: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    claims: Sequence[Claim] = ()
    quick: Params = field(default_factory=dict)
    #: Whether it is a variation: values that its figures and claims pick may be gone then.  No part of the data.
    varied: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        plain_name("experiment name", self.name)
        try:
            self._read()
        except (ValueError, TypeError) as error:
            raise type(error)(f"experiment {self.name}: {error}") from None

    def _read(self) -> None:
        """Make parts of what stands for them, values of what msgspec lets in, and labels of a claim's agents."""
        wrappers = self.wrappers
        parts = {
            "env": Use.read("env", self.env),
            "agents": Use.several("agents", self.agents),
            "wrappers": {k: Use.several(f"wrappers.{k}", v) for k, v in wrappers.items()}
            if isinstance(wrappers, Mapping)
            else Use.several("wrappers", wrappers),
            "figures": Figure.several("figures", self.figures),
            "claims": Claim.several("claims", self.claims),
        }
        for key, part in parts.items():
            object.__setattr__(self, key, part)
        check(self, *parts)
        object.__setattr__(self, "title", self.title or self.name)
        if not self._lines:
            raise ValueError(f"agents={shown(self.agents)} and wrappers={shown(wrappers)} must name somebody")
        self._check_keys("sweep", self.sweep)
        self._check_keys("quick", self.quick, _PLAIN)
        for parameter, values in self.sweep.items():
            texts = [canonical(v) for v in values]
            if not texts or len(set(texts)) < len(texts):
                raise ValueError(f"sweep {parameter}={shown(list(values))} must list values, each once")
        for key in ("runs", "wrappers"):  # every env takes these of whoever builds it
            if key in self.env.params or f"env.{key}" in self.sweep:
                raise ValueError(f"'env.{key}' is no parameter of the env's; {key} = … of the experiment says it")
        for use, prefixes in self._reached():
            by = {name: f"{name}={shown(value)}" for name, value in use.params.items()}
            for key in self.sweep:
                prefix, _, name = key.rpartition(".")
                if prefix in prefixes and by.setdefault(name, key) != key:
                    raise ValueError(f"sweep {key!r}: {use.called} is given {by[name]} already; keep one of the two")
        given = [*self.env.params, *(key.removeprefix("env.") for key in self.sweep)]
        if strange := [parameter for parameter in self.paired if parameter not in given]:
            raise ValueError(f"paired={strange[0]!r} is no env parameter given here")
        if twice := [label for label, n in Counter(self.lines()).items() if n > 1]:
            raise ValueError(f"two lines are called {twice[0]!r}; give them a label=")
        claims = tuple(replace(c, effect=c.effect.naming(self._line_of)) for c in self.claims)
        object.__setattr__(self, "claims", claims)

    def _check_keys(self, what: str, keys: Iterable[str], plain: Sequence[str] = ()) -> None:
        """Raise ``ValueError`` where a key names no parameter of the env, the agents or the wrappers."""
        prefixes = {prefix for _, mine in self._reached() for prefix in mine}
        for key in keys:
            prefix, _, parameter = key.rpartition(".")
            if key not in plain and not (parameter and prefix in prefixes):
                write = f"write env.{parameter} or agent.{parameter}, to say whose it is"
                why = f"nothing here is called {prefix!r}{nearest(prefix, prefixes)}" if prefix else write
                raise ValueError(f"{what} {shown(key)}: {why}")

    # -- lines and cells --------------------------------------------------------------------------------------

    def _choices(self) -> Mapping[str, Sequence[Use]]:
        return self.wrappers if isinstance(self.wrappers, Mapping) else {"": self.wrappers}

    def _reached(self) -> list[tuple[Use, tuple[str, ...]]]:
        """Env, agents and wrappers, each with the prefixes of a sweep that reach it."""
        wrappers = [w for uses in self._choices().values() for w in uses]
        agents = [(a, ("agent", a.name)) for a in self.agents]
        return [(self.env, ("env",)), *agents, *((w, (w.name,)) for w in wrappers)]

    def _line_of(self, line: Line) -> Line:
        """A claim's line by its label, or by a mapping that holds it."""
        if isinstance(line, Mapping) and "agent" in line:
            return {**line, "agent": self._line_of(line["agent"])}
        if not isinstance(line, Use):
            return line
        found = [label for label, agent, _ in self._lines if agent == line]
        if len(found) != 1:
            why = f"several lines: name {', '.join(map(repr, found))}" if found else "none of its agents"
            raise ValueError(f"a claim is about {line.to_dict()}, which is {why}")
        return found[0]

    def lines(self) -> list[str]:
        """Legend entries: agents × wrapper choices."""
        return [label for label, *_ in self._lines]

    @cached_property
    def _lines(self) -> list[tuple[str, Use, Sequence[Use]]]:
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
                found.append(
                    Cell(on, wrappers, played, where, self.checkpoints, line, point, env, tuple(self.paired), self.luck)
                )
        return found

    # -- as data ----------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, object]:
        """As in a TOML file; fields at their defaults are left out, but for `runs`."""
        return {**super().to_dict(), "runs": self.runs}

    # -- variations -------------------------------------------------------------------------------------------

    def overriding(self, changes: Params) -> Experiment:
        """Return the experiment with other values.

        Parameters
        ----------
        changes : mapping
            ``runs``, ``checkpoints``, or parameters named as in `sweep`.  A list or tuple under the name of
            a swept parameter replaces its sweep; any other value is its sweep's only one.
        """
        self._check_keys(f"experiment {self.name}: cannot set", changes, _PLAIN)
        own = {key: value for key, value in changes.items() if key in _PLAIN}
        anew = {key: changes[key] for key in self.sweep if key in changes}
        point = {key: value for key, value in changes.items() if key not in own | anew}
        env = _aimed(self.env, point, "env")
        agents = tuple(_aimed(a, point, "agent", a.name) for a in self.agents)
        choices = {label: tuple(_aimed(w, point, w.name) for w in uses) for label, uses in self._choices().items()}
        wrappers = choices if isinstance(self.wrappers, Mapping) else choices[""]
        sweep = {**self.sweep, **{k: v if isinstance(v, (list, tuple)) else (v,) for k, v in anew.items()}}
        varied = self.varied or bool(point or anew)
        return replace(self, **own, env=env, agents=agents, wrappers=wrappers, sweep=sweep, varied=varied)

    def quickly(self) -> Experiment:
        """Return the small version of ``--quick``: `quick`'s overrides, else at most 5 runs."""
        return self.overriding(self.quick or {"runs": min(self.runs, 5)})

    def joined_by(self, agents: Iterable[Use | str]) -> Experiment:
        """Return the experiment with more `agents`."""
        return replace(self, agents=(*self.agents, *Use.several("agents", tuple(agents))))


#: What may be changed besides parameters.
_PLAIN = ("runs", "checkpoints")


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
        told = [f"{symbol(k)} = {short(agent.params[k])}" for k in differ if k in agent.params]
        labels.append(" ".join([agent.name.rpartition(":")[2], ", ".join(told)]).strip() + mark)
    return labels
