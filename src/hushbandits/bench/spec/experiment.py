"""Experiments as data: env × wrappers × agents × sweep, and the cells that they expand to."""

import hashlib
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from hushbandits.bench.spec.claim import Claim, Line
from hushbandits.bench.spec.parts import Component, Count, Figure, Part, check, plain_name
from hushbandits.bench.spec.vocabulary import place, short, symbol
from hushbandits.core import Params, nearest, shown
from hushbandits.core.random.seed_text import canonical, path_of, seed_text, standing
from hushbandits.registry import ENVS


@dataclass(frozen=True)
class Cell:
    """One env with wrappers and one agent, at one point of a sweep.

    Its `key` identifies the env and agent, not the position in the experiment; `world` is the env part of the key.
    """

    env: Component
    wrappers: tuple[Component, ...]
    agent: Component
    world: str
    checkpoints: int | Sequence[int] | None
    #: Legend entry: the agent's label (with that of the wrappers, if they vary).
    line: str
    #: Values of the sweep, by parameter.
    point: Params
    #: The env and its parameters that enter the seeds, and the name of the seed group.
    home: Component
    paired: tuple[str, ...] = ()
    seed_group: str = ""

    @cached_property
    def spec(self) -> dict[str, object]:
        """Return everything that determines the cell's results under a master seed."""
        return {
            "env": {"use": self.env.name, **self.env.params},
            "wrappers": [{"use": w.name, **w.params} for w in self.wrappers],
            "agent": {"use": self.agent.name, **self.agent.params},
            "checkpoints": self.checkpoints,
            "world": self.world,
        }

    @cached_property
    def key(self) -> str:
        """Return the SHA-256 of the canonical JSON of `spec`, 64 hex digits."""
        return hashlib.sha256(canonical(self.spec).encode()).hexdigest()

    @property
    def label(self) -> str:
        """Return the legend entry and the swept values as text, such as ``"UCB1, agents = 4"``."""
        return ", ".join(filter(None, [self.line, place(self.point)]))

    @cached_property
    def seed_text(self) -> str:
        """Return the text from which, together with the master seed, the seeds of the runs are derived."""
        spec = ENVS.find(self.home.name)
        return seed_text(spec.load(), {**spec.defaults, **self.home.params}, self.paired, self.seed_group)

    @property
    def shared_runs(self) -> str:
        """Return a text that is equal only for cells whose runs have the same arms and random numbers.

        No user-defined env class is imported.
        """
        return self.world if ":" in self.home.name else self.seed_text


@dataclass(frozen=True, kw_only=True)
class Experiment(Part):
    """Declaration of an experiment: env, agents, number of runs, figures and claims.

    Parameters
    ----------
    name, title, source : str
        Name, title (default: the name), and the paper's figure.
    env : Component or str
        The env; a text is a name without parameters, here and below.
    agents : sequence of Component or str
        The agents; all of them face the same runs.
    wrappers : sequence of Component or str, or mapping of str to such a sequence
        Wrappers of messages, outermost first; a mapping crosses several labelled choices with everything else.
    sweep : mapping of str to sequence
        Swept parameters and their values; several parameters are crossed.  ``env.…`` and ``agent.…`` are parameters of
        the env and of all agents.  ``NAME.…`` is one of the agents or wrappers of that name; other lines stand beside
        it for comparison.  A swept parameter must not be given elsewhere.
    paired : sequence of str
        Env parameters whose values share seeds, such as ``"max_hops"``.  Runs that differ only in these face the same
        arms, graphs and rewards, and claims compare them in pairs.
    runs : int
        Runs per cell.
    seed_group : str
        A name that gives the runs separate seeds, so that claims are judged on fresh runs.  Default: the runs that all
        experiments with such an env share.
    checkpoints : int or sequence of int, optional
        Times at which curves are sampled, in the env's time unit: so many points spaced evenly in the logarithm up to
        the horizon, or these times.  Default: 50; none if runs end by themselves (most of exploration).
    metrics : sequence of str
        Metrics of the printed table; all scalar metrics are stored.
    figures : sequence of Figure
        Panels of the figure.
    claims : sequence of Claim
        Claims of the paper.
    quick : mapping
        Overrides of ``--quick``: ``runs``, ``checkpoints``, and parameters as in `sweep` (a list replaces a
        sweep).
    varied : bool
        Whether this is a variation of another declaration (``--quick``, ``--set``); not part of the data.

    Raises
    ------
    ValueError
        A part that is invalid or contradicts another one; the message names it.

    Examples
    --------
    >>> small = Experiment(
    ...     name="small", title="Does sharing pay?", env=Component("CoopNetwork-v0", horizon=100),
    ...     agents=(Component("Multi-UCB"), Component("UCB1")), sweep={"env.n_agents": (4, 16)}, metrics=("regret",))
    >>> [cell.label for cell in small.cells()]
    ['Multi-UCB, agents = 4', 'UCB1, agents = 4', 'Multi-UCB, agents = 16', 'UCB1, agents = 16']
    """

    name: str
    title: str = ""
    env: Component
    agents: Sequence[Component]
    source: str = ""
    wrappers: Sequence[Component] | Mapping[str, Sequence[Component]] = ()
    sweep: Mapping[str, Sequence[object]] = field(default_factory=dict)
    paired: Sequence[str] = ()
    runs: Count = 20
    seed_group: str = ""
    checkpoints: int | Sequence[int] | None = None
    metrics: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    claims: Sequence[Claim] = ()
    quick: Params = field(default_factory=dict)
    #: Whether it is a variation: values that its figures and claims pick may be missing.  Not part of the data.
    varied: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        plain_name("experiment name", self.name)
        try:
            self._read()
        except (ValueError, TypeError) as error:
            raise type(error)(f"experiment {self.name}: {error}") from None

    def _read(self) -> None:
        """Convert and check all fields; in claims, replace agents by the labels of lines."""
        wrappers = self.wrappers
        parts = {
            "env": Component.read("env", self.env),
            "agents": Component.several("agents", self.agents),
            "wrappers": {k: Component.several(f"wrappers.{k}", v) for k, v in wrappers.items()}
            if isinstance(wrappers, Mapping)
            else Component.several("wrappers", wrappers),
            "figures": Figure.several("figures", self.figures),
            "claims": Claim.several("claims", self.claims),
        }
        for key, part in parts.items():
            object.__setattr__(self, key, part)
        check(self, *parts)
        object.__setattr__(self, "title", self.title or self.name)
        if not self._lines:
            both = f"agents={shown(self.agents)}, wrappers={shown(wrappers)}"
            raise ValueError(f"{both}: there must be at least one agent, and a table of wrappers must not be empty")
        self._check_keys("sweep", self.sweep)
        self._check_keys("quick", self.quick, _PLAIN)
        for parameter, values in self.sweep.items():
            texts = [canonical(v) for v in values]
            if not texts or len(set(texts)) < len(texts):
                raise ValueError(f"sweep {parameter}={shown(list(values))} must list at least one value, none twice")
        given = [*self.env.params, *(key.removeprefix("env.") for key in self.sweep)]
        if own := [key for key in ("runs", "wrappers") if key in given]:  # every env takes these from its constructor
            raise ValueError(f"'env.{own[0]}' is not a parameter of the env; set {own[0]} = … in the experiment")
        for use, prefixes in self._reached():
            by = {name: f"{name}={shown(value)}" for name, value in use.params.items()}
            for key in self.sweep:
                prefix, _, name = key.rpartition(".")
                if prefix in prefixes and by.setdefault(name, key) != key:
                    raise ValueError(f"sweep {key!r}: {use.called} already has {by[name]}; keep one of the two")
        if strange := [parameter for parameter in self.paired if parameter not in given]:
            raise ValueError(f"paired={strange[0]!r} must be a parameter that env or sweep sets")
        if twice := [label for label, n in Counter(self.lines()).items() if n > 1]:
            raise ValueError(f"two legend entries are {twice[0]!r}; give one of the two agents a label=")
        claims = tuple(replace(c, effect=c.effect.naming(self._line_of)) for c in self.claims)
        object.__setattr__(self, "claims", claims)

    def _check_keys(self, what: str, keys: Iterable[str], plain: Sequence[str] = ()) -> None:
        """Raise ``ValueError`` if the prefix of a key names neither the env nor an agent or wrapper.

        The keys in `plain` need no prefix.
        """
        prefixes = {prefix for _, mine in self._reached() for prefix in mine}
        for key in keys:
            prefix, _, parameter = key.rpartition(".")
            if key not in plain and not (parameter and prefix in prefixes):
                write = f"write env.{parameter} or agent.{parameter}"
                why = f"no agent or wrapper is {prefix!r}{nearest(prefix, prefixes)}" if prefix else write
                raise ValueError(f"{what} {shown(key)}: {why}")

    # -- lines and cells --------------------------------------------------------------------------------------

    def _choices(self) -> Mapping[str, Sequence[Component]]:
        return self.wrappers if isinstance(self.wrappers, Mapping) else {"": self.wrappers}

    def _reached(self) -> list[tuple[Component, tuple[str, ...]]]:
        """Return env, agents and wrappers, each with the prefixes of swept parameters that apply to it."""
        wrappers = [w for uses in self._choices().values() for w in uses]
        agents = [(a, ("agent", a.name)) for a in self.agents]
        return [(self.env, ("env",)), *agents, *((w, (w.name,)) for w in wrappers)]

    def _line_of(self, line: Line) -> Line:
        """Return `line`, in which an agent given as a `Component` is replaced by the label of the matching line."""
        if isinstance(line, Mapping) and "agent" in line:
            return {**line, "agent": self._line_of(line["agent"])}
        if not isinstance(line, Component):
            return line
        found = [label for label, agent, _ in self._lines if agent == line]
        if len(found) != 1:
            why = f"has several legend entries: name {' or '.join(map(repr, found))}" if found else "is not in agents"
            raise ValueError(f"a claim is about the agent {line.to_dict()}, which {why}")
        return found[0]

    def lines(self) -> list[str]:
        """Return the labels of the lines, one for each agent and choice of wrappers."""
        return [label for label, *_ in self._lines]

    @cached_property
    def _lines(self) -> list[tuple[str, Component, Sequence[Component]]]:
        return [
            (f"{label} · {choice}" if choice else label, agent, uses)
            for choice, uses in self._choices().items()
            for agent, label in zip(self.agents, _labels(self.agents), strict=True)
        ]

    def cells(self) -> list[Cell]:
        """Return all cells, in the order of the declaration."""
        return self._cells

    @cached_property
    def _cells(self) -> list[Cell]:
        found = []
        for combo in itertools.product(*self.sweep.values()):
            point = dict(zip(self.sweep, combo, strict=True))
            env = _aimed(self.env, point, "env")
            where = world(env.name, env.params, self.paired, self.seed_group)
            seeds = env, tuple(self.paired), self.seed_group
            for line, agent, uses in self._lines:
                wrappers = tuple(_aimed(w, point, w.name) for w in uses)
                on = env if agent.on is None else Component(agent.on, **env.params)
                played = _aimed(agent, point, "agent", agent.name)
                found.append(Cell(on, wrappers, played, where, self.checkpoints, line, point, *seeds))
        return found

    # -- as data ----------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, object]:
        """Return the experiment as a TOML table, without fields at their defaults except `runs`."""
        return {**super().to_dict(), "runs": self.runs}

    # -- variations -------------------------------------------------------------------------------------------

    def overriding(self, changes: Params) -> "Experiment":
        """Return a copy of the experiment with the values in `changes`.

        Parameters
        ----------
        changes : mapping
            ``runs``, ``checkpoints``, or parameters named as in `sweep`.  A list or tuple replaces the sweep of that
            parameter; any other value becomes its only value.
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

    def quickly(self) -> "Experiment":
        """Return the version for ``--quick``: with the overrides in `quick` or, without overrides, at most 5 runs."""
        return self.overriding(self.quick or {"runs": min(self.runs, 5)})

    def joined_by(self, agents: Iterable[Component | str]) -> "Experiment":
        """Return a copy of the experiment with `agents` added."""
        return replace(self, agents=(*self.agents, *Component.several("agents", tuple(agents))))


def world(env: str | type, params: Params, paired: Collection[str] = (), seed_group: str = "") -> str:
    """Return the part of a cell's key that describes the env and determines the seeds.

    Parameters
    ----------
    env : str or class
        A name, or a class, which is written as its ``"module:Class"``.
    params : mapping
        Parameters of the env.  A value without a plain form (a law defined in a script, a function, an infinite number)
        is replaced by the name of its class, or by its name if it has one.
    paired : collection of str
        Parameters to leave out.
    seed_group : str
        A name that gives the runs other seeds.

    Examples
    --------
    >>> world("CoopNetwork-v0", {"n_agents": 4.0, "max_hops": 2}, paired=["max_hops"])
    '{"n_agents":4,"use":"CoopNetwork-v0"}'
    >>> world("Mine-v0", {}, seed_group="fresh")
    '{"of":{"use":"Mine-v0"},"seed_group":"fresh"}'
    >>> world("Mine-v0", {"graph": max})
    '{"graph":{"object":"builtins:max"},"use":"Mine-v0"}'
    """
    name = env if isinstance(env, str) else path_of(env)
    stated: Params = {"use": name, **{k: v for k, v in params.items() if k not in paired}}
    stated = {"seed_group": seed_group, "of": stated} if seed_group else stated
    try:
        return canonical(stated)
    except TypeError:
        return canonical(standing(stated))


#: Fields that may be changed besides parameters.
_PLAIN = ("runs", "checkpoints")


def _aimed(use: Component, point: Params, *prefixes: str) -> Component:
    split = [(*key.rpartition("."), value) for key, value in point.items()]
    mine = {parameter: value for prefix, _, parameter, value in split if prefix in prefixes}
    return use.having(**mine) if mine else use


def _labels(agents: Sequence[Component]) -> Iterator[str]:
    """Yield the agents' labels: the given label, else the name with parameters that distinguish equal names."""
    for agent in agents:
        # An agent outside the range of its guarantees is marked in every label.
        mark = " (uncalibrated)" if agent.params.get("require_calibrated") is False else ""
        if agent.label:
            yield agent.label + mark
            continue
        namesakes = [a for a in agents if a.name == agent.name and not a.label]
        names = dict.fromkeys(k for a in namesakes for k in a.params if k != "require_calibrated")
        differ = [k for k in names if len({canonical(a.params.get(k)) for a in namesakes}) > 1]
        stated = [f"{symbol(k)} = {short(agent.params[k])}" for k in differ if k in agent.params]
        yield " ".join([agent.name.rpartition(":")[2], ", ".join(stated)]).strip() + mark
