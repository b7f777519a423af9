"""Teams made of less: `Each` lifts a plain one-agent class, `Acts` a function of observations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from hushbandits.core.env_view import EnvView, World, view_of
from hushbandits.core.measure import Measure
from hushbandits.core.messages import Field, Fields, Inbox, Obs
from hushbandits.core.random.streams import Streams
from hushbandits.core.task import EARNED, Space, Stacked, Task, fits
from hushbandits.core.team import Team
from hushbandits.core.utils import Action, Array, Message, Params, integer, nearest, shown, words
from hushbandits.core.validation import checked


class Unlearning(ValueError):
    """Neither rewards nor messages reach an agent, and it does not say that it is blind."""


class Each(Team):
    """One object per seat and run, exactly as if each agent ran on its own machine.

    Where an object returns what its hook may not return, a ``ValueError`` names it.

    Parameters
    ----------
    factory : callable
        ``factory(m, rng)`` builds agent m; `rng` is its own seeded ``numpy.random.Generator``.  If it has
        a parameter ``n_arms``, it is told K by that name.  The object has

        * ``act(t)`` → its action in round t = 1, 2, …: a value of the env's one action field (network: an arm;
          exploration: K bools), or a tuple of several (feedback: ``(arm, n)``),
        * ``speak(reward)`` → a dict of its message's fields, or ``None`` for the standard report; where a message has
          one field, its bare value will do (exploration: K bools of votes),
        * ``hear(messages)`` ← a list of dicts, one per message that arrived.

        `speak` brings it its own rewards, and `hear` what others say: where both are missing it can learn nothing, and
        is refused unless it says so, ``blind = True``.
    setting : str, optional
        ``"network"`` etc.; default: any.
    fields : Fields, optional
        Fields of its messages, where it does not send the standard report.
    name : str
        Names its random tapes.

    Raises
    ------
    ValueError
        What is given is a `Team`, an agent that is built already, or cannot be built from ``(m, rng)``; or its agents
        can learn nothing.

    Examples
    --------
    >>> import hushbandits as hb
    >>> class Stubborn:
    ...     blind = True
    ...     def __init__(self, m, rng):
    ...         self.arm = m % 2
    ...     def act(self, t):
    ...         return self.arm
    >>> env = hb.make_core("CoopNetwork-v0", n_agents=4, horizon=3)
    >>> hb.play(env, hb.Each(Stubborn))["regret"].shape
    (1,)
    """

    name = ""  # the factory's, unless one was given

    def __init__(
        self,
        factory: Callable[..., Any],
        *,
        setting: str = "",
        fields: Fields | None = None,
        name: str | None = None,
    ):
        self.factory = _buildable(factory)
        if isinstance(factory, type):
            _learning(factory)
        self.name = name or str(getattr(factory, "__name__", "Each"))
        self.setting = setting
        self.fields = fields
        # Where its agents do not speak, the standard report is all that they send.
        self.improvises = not isinstance(factory, type) or hasattr(factory, "speak")

    def reset(self, env: World, rng: Streams) -> None:
        """Build the M agents of every run."""
        self._face = view_of(env)
        told = {"n_arms": env.n_arms} if "n_arms" in inspect.signature(self.factory).parameters else {}
        self._seats = [
            [self.factory(m, rng.generator(r, m), **told) for m in range(env.n_agents)] for r in range(len(rng))
        ]
        if not isinstance(self.factory, type):
            _learning(self._seats[0][0])

    def _acting(self) -> list[tuple[int, int, Any]]:
        live = self._face.live
        return [(r, a, self._seats[r][m]) for r, row in enumerate(self._who) for a, m in enumerate(row) if live[r]]

    def _name_of(self, r: int, a: int) -> str:
        return f"agent {self._who[r, a]} of {self.name} in round {int(self._t[r]) + 1} of run {r}"

    def act(self, obs: Obs) -> Action:
        """Ask every acting agent for its action."""
        self._who, self._t = obs.who.copy(), obs.t.copy()
        action = self._face.no_action()
        parts: tuple[Array, ...] = action if isinstance(action, tuple) else (action,)
        for r, a, agent in self._acting():
            took = self._took(self._asked(r, a, agent.act, int(obs.t[r]) + 1), r, a)
            for part, value in zip(parts, took, strict=True):
                part[r, a] = value
        return action

    def _asked(self, r: int, a: int, hook: Callable[..., Any], told: object, hint: str = "") -> Any:
        """What an agent answers; where its code raises, ``RuntimeError`` says whose and when."""
        try:
            return hook(told)
        except Exception as error:
            name = getattr(hook, "__name__", "it")
            raise RuntimeError(f"{self._name_of(r, a)}: {name} raised {words(error)}{hint}") from error

    def _took(self, value: object, r: int, a: int) -> list[Array]:
        fields = self._face.actions
        values = [value] if len(fields) == 1 else list(value) if isinstance(value, (tuple, list, np.ndarray)) else []
        if len(values) == len(fields):
            try:
                return [checked(name, x, field, ()) for x, (name, field) in zip(values, fields.items(), strict=True)]
            except ValueError:
                pass
        says = " and ".join(f"{_an(field)} as {name}" for name, field in fields.items())
        raise ValueError(f"{self._name_of(r, a)}: act must return {says}, not {shown(value)}")

    def speak(self, reward: Array) -> dict[str, Array] | None:
        """Collect the agents' messages."""
        speaking = [(r, a, agent) for r, a, agent in self._acting() if hasattr(agent, "speak")]
        said = {(r, a): self._asked(r, a, agent.speak, reward[r, a].copy()) for r, a, agent in speaking}
        said = {seat: own for seat, own in said.items() if own is not None}
        if self.fields is None and not said:
            return None
        # Whoever says nothing of its own sends the standard report, if that is what the team sends at all.
        message = {k: np.zeros((*self._who.shape, *f.shape), f.dtype) for k, f in self._face.fields.items()}
        message["sent"] = np.full(self._who.shape, self.fields is None)
        standard = {} if self.fields is not None else self._face.standard_report()
        message.update(standard)
        unsaid = [k for k in self._face.fields if k not in standard]
        for r, a, _ in self._acting():
            own = said.get((r, a))
            if own is None and self.fields is not None:
                continue
            spoken = {} if own is None else self._spoken(own, r, a)
            if lacking := [k for k in unsaid if k not in spoken]:
                raise ValueError(f"{self._name_of(r, a)}: speak must say {lacking[0]!r}, for nobody says it instead")
            message["sent"][r, a] = True
            for k, value in spoken.items():
                message[k][r, a] = value
        return message

    def _spoken(self, said: object, r: int, a: int) -> dict[str, Array]:
        """What an agent said, field by field, checked."""
        fields = self._face.fields
        if not self._face.agents_speak:
            raise ValueError(f"{self._name_of(r, a)}: speak must return None, for here users speak, not servers")
        if not isinstance(said, dict):
            if len(fields) > 1:
                known = ", ".join(fields)
                raise ValueError(
                    f"{self._name_of(r, a)}: speak must return None or a dict of {known}, not {shown(said)}"
                )
            said = dict.fromkeys(fields, said)  # the only one needs no name
        for name in said:
            if name not in fields:
                raise ValueError(f"{self._name_of(r, a)}: speak returns a field {name!r}{nearest(str(name), fields)}")
        what = f"what {self._name_of(r, a)} says in field"
        return {name: checked(f"{what} {name!r}", value, fields[name], ()) for name, value in said.items()}

    def hear(self, inbox: Inbox) -> None:
        """Hand every agent its own messages."""
        listening = [(r, a, agent) for r, a, agent in self._acting() if hasattr(agent, "hear")]
        if not listening:
            return
        arrived = inbox.arrived
        gathered = {field: inbox[field] for field in inbox.fields}
        wide = [k for k, v in gathered.items() if v.ndim > 3]
        for r, a, agent in listening:
            heard = [{k: v[r, a, s] for k, v in gathered.items()} for s in np.flatnonzero(arrived[r, a])]
            for message in heard if wide else ():
                message.update((k, message[k].copy()) for k in wide)  # an array would lead to everybody's
            self._asked(r, a, agent.hear, heard, f"; a message here has: {', '.join(gathered)}")


def _buildable(factory: object) -> Callable[..., Any]:
    """Return what builds an agent, or say what to hand over instead."""
    if isinstance(factory, Team) or (isinstance(factory, type) and issubclass(factory, Team)):
        name = factory.__name__ if isinstance(factory, type) else factory.name
        raise ValueError(f"Each({name}): a Team plays all seats already; hand over {name} itself, without Each")
    if not callable(factory):
        name = type(factory).__name__
        hint = f"; give its class, Each({name}), of which every seat gets its own" * hasattr(factory, "act")
        raise ValueError(f"factory={shown(factory)} must be a class, or a function of (m, rng){hint}")
    if isinstance(factory, type) and not callable(getattr(factory, "act", None)):
        raise ValueError(f"Each({factory.__name__}): the class must define act(t), which returns its action")
    return factory


def _learning(agent: object) -> None:
    """Raise `Unlearning` unless an agent, or its class, is told of rewards or messages, or says that it is blind."""
    if not (hasattr(agent, "speak") or hasattr(agent, "hear") or getattr(agent, "blind", False) is True):
        cls = agent if isinstance(agent, type) else type(agent)
        raise Unlearning(
            f"Each({cls.__name__}): without speak(reward), which brings an agent its own rewards, and hear(messages), "
            f"which brings what others say, it never learns; where that is meant, let it say blind = True"
        )


def _an(field: Field) -> str:
    """One value of an action's field, in words."""
    low, high = field.range
    if field.kind == "b":
        return f"{field.shape[0]} bools" if field.shape else "a bool"
    span = f"in {low}..{high}" if field.high is not None else f"≥ {low}"
    return f"an integer {span}" if field.kind in "iu" else f"a number {span}"


class TaskTeam(Team):
    """Base of teams that look through an env's task for learners, and answer with its actions.

    Parameters
    ----------
    beats : int
        1: arms and message of a round are chosen at once; 2: the message after the own reward was seen.  The metric
        ``beats`` says which.
    """

    measures: Mapping[str, Measure] = {"beats": Measure("beats of a step of the policy", "count")}
    told = ()  # its task sees what there is
    #: Its task writes the message.
    improvises = True

    def __init__(self, beats: int):
        self.beats = integer("beats", beats, 1, 2)

    def look(self, its: EnvView) -> Task:
        """Return the task through which it looks at an env (`its` view); a ``ValueError`` says why there is none."""
        raise NotImplementedError(f"{type(self).__name__} must define look(its)")

    def begin(self, rng: Streams) -> None:
        """Start R new runs, which draw from `rng`."""
        raise NotImplementedError(f"{type(self).__name__} must define begin(rng)")

    def choose(self, task: Task, pull: bool, talk: bool) -> Stacked:
        """Everyone's action in the next step of `task`, ``(R, M, …)``; `pull`, `talk`: whether it has that beat."""
        raise NotImplementedError(f"{type(self).__name__} must define choose(task, pull, talk)")

    def meets(self, env: World) -> None:
        """Raise ``ValueError`` where `env` has no task, or none that can be looked at so."""
        self.look(view_of(env))

    def looking(self, its: EnvView, options: Params) -> Task:
        """Return the task of an env (`its` view) with `options`; ``ValueError`` says what is missing."""
        if its.horizon is None:
            raise ValueError(f"{self.name} needs to know how long a run may last: give the env a horizon")
        if its.learner is None:
            raise ValueError(f"{self.name} needs an env with a task for learners, and this one declares no learner")
        task: Task = its.learner.asked(its, options)
        return task

    def metrics(self, env: World) -> dict[str, Array]:
        """Which game it played."""
        return {"beats": np.full(env.runs, self.beats)}

    def reset(self, env: World, rng: Streams) -> None:
        self._face = view_of(env)
        self._task = self.look(self._face)
        self._begun = False
        self.begin(rng)

    def act(self, obs: Obs) -> Action:
        """Choose arms, and with one beat also the message."""
        task = self._task
        if not self._begun:
            task.begin(obs)
            self._begun = True
        task.obs = obs
        self._action = task.decode(self.choose(task, True, self.beats == 1))
        return task.arms(self._action)

    def speak(self, reward: Array) -> Message | None:
        task = self._task
        task.obs = Obs(self._face.t, self._face.live, task.obs.who, reward)
        task.pulled(task.obs)
        return task.words(self._action if self.beats == 1 else task.decode(self.choose(task, False, True)))

    def hear(self, inbox: Inbox) -> None:
        task = self._task
        task.heard(Obs(self._face.t, self._face.live, task.obs.who, inbox=inbox))


def given_options(task: object) -> dict[str, object]:
    """Return what decides what is seen and how an action is written, checked as far as possible without an env."""
    if task is None:
        return {}
    if not isinstance(task, Mapping) or not all(isinstance(name, str) for name in task):
        raise ValueError(f"task={shown(task)} must be a dict of a task's options, such as {{'agent_id': True}}")
    for name in task:
        if name in EARNED:
            raise ValueError(f"task: {name}={shown(task[name])} is about what a learner earns, and agents earn nothing")
    return dict(task)


class Acts(TaskTeam):
    """A function of observations as an agent: all agents of all runs ask it at once.

    It sees what a learner sees in the env (`hb.make`), and its actions are written as a learner's are.

    Parameters
    ----------
    function : callable
        ``function(observations)`` → actions.  Observations are ``(R, A, D)`` float32, of the A agents that act (one in
        exploration, all elsewhere), their parts as ``env.layout`` of a view says; actions are ``(R, A)`` or
        ``(R, A, parts)``, of the task's action space, or a dict of such arrays where that space is one.  Rows of runs
        that are over count for nothing.  If it has a parameter of one of these names, it is told that as well:

        * ``mask`` — ``(R, A, C)`` bools, which choices count, as ``action_mask`` of a view,
        * ``who`` — ``(R, A)``, the agents' numbers,
        * ``rngs`` — R seeded generators, one per run: with these, and row by row, a run plays alone as in a batch.

        If it has a method ``reset``, that is called without arguments when runs begin.
    task : mapping, optional
        Options of the task, as for `hb.make`: ``{"actions": "multidiscrete", "agent_id": True}``.
    beats : int
        1 or 2, as for `hb.make`.
    name : str, optional
        What it is called, and its tape; default: the function's name.

    Raises
    ------
    ValueError
        `function` cannot be called, or is a class; an option of `task` is about what a learner earns.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = {"n_agents": 4, "horizon": 50}
    >>> layout = hb.make("CoopNetwork-v0", **env).layout
    >>> def greedy(observations):
    ...     bonus = observations[..., layout["heard_width"]]
    ...     return (observations[..., layout["heard_mean"]] + 2 * bonus).argmax(-1)
    >>> hb.evaluate("CoopNetwork-v0", hb.Acts(greedy), runs=3, env=env).final("regret").shape
    (3,)
    """

    name = ""  # the function's, unless one was given

    def __init__(
        self, function: Callable[..., object], *, task: Params | None = None, beats: int = 1, name: str | None = None
    ):
        if not callable(function) or isinstance(function, type):
            raise ValueError(f"function={shown(function)} must be a function of observations that returns actions")
        super().__init__(beats)
        self._function, self._options = function, given_options(task)
        self._wants = [name for name in ("mask", "who", "rngs") if name in _named(function)]
        self.name = str(name or getattr(function, "__name__", type(function).__name__))

    def look(self, its: EnvView) -> Task:
        """The env's task, with the options that were given; ``ValueError`` where it has none such."""
        try:
            return self.looking(its, self._options)
        except TypeError as error:
            raise ValueError(f"{self.name} cannot look at this env: {error}") from None

    def begin(self, rng: Streams) -> None:
        """Open a generator per run where the function draws, and let it forget."""
        self._rngs = rng.generators() if "rngs" in self._wants else []
        if callable(reset := getattr(self._function, "reset", None)):
            reset()

    def choose(self, task: Task, pull: bool, talk: bool) -> Stacked:
        """Ask the function for those whose action counts; the others' is 0."""
        seen, who = task.observe(pull, talk), task.obs.who
        rows = np.arange(len(who))[:, None]
        more: dict[str, object] = {"who": who.copy(), "rngs": self._rngs}
        if "mask" in self._wants:
            more["mask"] = task.mask()[rows, who]
        told = {name: more[name] for name in self._wants}
        space, shape = task.action_space, seen.shape[:2]
        asked = self._read(space, self._function(seen[rows, who], **told), who.shape)

        def spread(value: Array) -> Array:
            full = np.zeros((*shape, *value.shape[2:]), value.dtype)
            full[rows, who] = value
            return full

        return {name: spread(value) for name, value in asked.items()} if isinstance(asked, dict) else spread(asked)

    def _read(self, space: Space, answer: object, lead: tuple[int, ...]) -> Stacked:
        """The function's answer as stacked actions of `space`, ``(R, A, …)``."""
        if isinstance(space, spaces.Dict):
            if not isinstance(answer, Mapping) or set(answer) != set(space):
                raise ValueError(f"{self.name} must return a dict of {', '.join(space)}, not {shown(answer)}")
            return {name: self._read(part, answer[name], lead) for name, part in space.items()}
        try:
            action = np.asarray(answer)
        except Exception as error:  # a tensor that must be detached first, ragged lists
            raise ValueError(f"{self.name} must return an array of actions: {error}") from error
        if isinstance(space, spaces.Box) and action.dtype.kind == "f":
            action = action.astype(space.dtype)
        if action.shape != (*lead, *(space.shape or ())) or not fits(space, action.reshape(-1, *action.shape[2:])):
            raise ValueError(
                f"{self.name} must return actions of {space} in an array {(*lead, *(space.shape or ()))}, and returned "
                f"{shown(answer)} ({action.dtype}, shape {action.shape})"
            )
        return action


def _named(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # what is written in C may not say
        return {}
