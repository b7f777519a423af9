"""`PerAgent` builds a team from a plain class of one agent."""

import inspect
from collections.abc import Callable

import numpy as np

from hushbandits.core.messages import Field, Fields, Inbox, Observation
from hushbandits.core.random.streams import Streams
from hushbandits.core.team import Team, view_of
from hushbandits.core.utils import Action, Array, Params, nearest, parameters, shown, words
from hushbandits.core.validation import checked, checked_message
from hushbandits.core.world import World


class Unlearning(ValueError):
    """Error for an agent that receives neither rewards nor messages and does not declare ``blind = True``."""


class PerAgent(Team):
    """A team with one independent object for each agent of each run.

    If an object's hook returns an invalid value, a ``ValueError`` names the object.

    Parameters
    ----------
    factory : callable
        ``factory(m, rng)`` builds agent m; `rng` is its own seeded ``numpy.random.Generator``.  If it has a parameter
        ``n_arms``, K is passed by that name.  The object has

        * ``act(t)`` → its action in round t = 1, 2, …: a value of the env's one action field (network: an arm;
          exploration: K bools), or a tuple of several (feedback: ``(arm, n)``),
        * ``compose(reward)`` → a dict of its message's fields, or ``None`` for the default message; if a message has
          one field, its bare value is enough (exploration: K bools of votes),
        * ``receive(messages)`` ← a list of dicts, one per message that arrived.

        `compose` receives the agent's own rewards, and `receive` the others' messages.  An agent without both cannot
        learn; it raises an error unless it declares ``blind = True``.
    setting : str, optional
        ``"network"`` etc.; default: any.
    fields : Fields, optional
        Fields of its messages, if it does not send the default message.
    name : str
        Names its random streams.
    params : dict, optional
        Further arguments of `factory`, by name.

    Raises
    ------
    ValueError
        `factory` is a `Team` or a single built agent, cannot be called as ``factory(m, rng)``, or builds agents that
        cannot learn.
    TypeError
        A parameter that `factory` does not take.

    Examples
    --------
    >>> import hushbandits as hb
    >>> class Stubborn:
    ...     blind = True
    ...     def __init__(self, m, rng):
    ...         self.arm = m % 2
    ...     def act(self, t):
    ...         return self.arm
    >>> env = hb.make_batched("CoopNetwork-v0", n_agents=4, horizon=3)
    >>> hb.rollout(env, hb.PerAgent(Stubborn))["regret"].shape
    (1,)
    """

    name = ""  # the factory's, unless one was given

    def __init__(
        self,
        factory: Callable[..., object],
        *,
        setting: str = "",
        fields: Fields | None = None,
        name: str | None = None,
        params: Params | None = None,
    ):
        plain = not isinstance(factory, type) or (hasattr(factory, "act") and not issubclass(factory, Team))
        if not callable(factory) or not plain:
            name = getattr(factory, "__name__", type(factory).__name__)
            raise ValueError(
                f"PerAgent({name}): factory={shown(factory)} must be a class with the method act(t), or a "
                f"function of (m, rng) that returns one agent; a Team already plays all agents"
            )
        if isinstance(factory, type):
            _learning(factory)
        self.factory, self.params = factory, dict(params or {})
        self.name = name or str(getattr(factory, "__name__", "PerAgent"))
        known = [name for name in parameters(factory) if name not in ("m", "rng", "n_arms")]
        for given, value in self.params.items():
            if given not in known:
                raise TypeError(f"agent {self.name} takes no parameter {given}={shown(value)}{nearest(given, known)}")
        self.setting = setting
        self.fields = fields
        # Agents without `compose` send the default message.
        self.any_fields = not isinstance(factory, type) or hasattr(factory, "compose")

    def reset(self, env: World, rng: Streams) -> None:
        """Build the M agents of every run."""
        self._face = view_of(env)
        stated = dict(self.params)
        if "n_arms" in inspect.signature(self.factory).parameters:
            stated["n_arms"] = env.n_arms
        agents = range(env.n_agents)
        try:
            self._seats = [[self.factory(m, rng.generator(r, m), **stated) for m in agents] for r in range(len(rng))]
        except Exception as error:
            raise RuntimeError(f"{self.name}, built from m, rng and perhaps n_arms, raised {words(error)}") from error
        _learning(self._seats[0][0])

    def _acting(self, hook: str) -> list[tuple[int, int]]:
        """Return (run, index in ``active_agents``) of each agent that acts in this round and has the method `hook`."""
        runs = [r for r in range(len(self._who)) if self._face.running[r]]
        return [(r, a) for r in runs for a, m in enumerate(self._who[r]) if hasattr(self._seats[r][m], hook)]

    def _name_of(self, r: int, a: int) -> str:
        return f"agent {self._who[r, a]} of {self.name} in round {int(self._t[r]) + 1} of run {r}"

    def _asked(self, r: int, a: int, hook: str, stated: object, hint: str = "") -> object:
        """Return the result of an agent's method `hook`; if `hook` fails, raise ``RuntimeError``."""
        try:
            return getattr(self._seats[r][self._who[r, a]], hook)(stated)
        except Exception as error:
            raise RuntimeError(f"{self._name_of(r, a)}: {hook} raised {words(error)}{hint}") from error

    def act(self, obs: Observation) -> Action:
        """Return the actions of all agents that act, each from the agent's `act`."""
        self._who, self._t = obs.active_agents.copy(), obs.t.copy()
        action, fields = self._face.no_action(), self._face.actions
        parts: tuple[Array, ...] = action if isinstance(action, tuple) else (action,)
        for r, a in self._acting("__init__"):
            answer = self._asked(r, a, "act", int(obs.t[r]) + 1)
            try:
                values: list[object] = [answer] if len(parts) == 1 else [*answer]  # type: ignore[misc]
                for part, value, name in zip(parts, values, fields, strict=True):
                    part[r, a] = checked(name, value, fields[name], ())
            except (TypeError, ValueError):
                says = " and ".join(f"{_an(field)} as {name}" for name, field in fields.items())
                raise ValueError(f"{self._name_of(r, a)}: act must return {says}, not {shown(answer)}") from None
        return action

    def compose(self, reward: Array) -> dict[str, Array] | None:
        """Return the agents' messages by field, or ``None`` if all agents send the default message."""
        asked = {(r, a): self._asked(r, a, "compose", reward[r, a].copy()) for r, a in self._acting("compose")}
        said = {seat: own for seat, own in asked.items() if own is not None}
        if self.fields is None and not said:
            return None
        fields = self._face.fields
        message = {k: np.zeros((*self._who.shape, *f.shape), f.dtype) for k, f in fields.items()}
        # An agent that returns None sends the default message, if the team sends it.
        standard = {} if self.fields is not None else self._face.standard_report()
        message |= {"sent": np.full(self._who.shape, self.fields is None), **standard}
        for r, a in self._acting("__init__") if self.fields is None else said:
            if not self._face.agents_speak:
                raise ValueError(f"{self._name_of(r, a)}: compose must return None: only users send messages here")
            own = said.get((r, a), {})
            if not isinstance(own, dict) and len(fields) == 1:
                own = dict.fromkeys(fields, own)  # a single field needs no name
            if isinstance(own, dict):
                own = {"sent": True, **{k: v[r, a] for k, v in standard.items()}, **own}
            for k, value in checked_message(f"what {self._name_of(r, a)} says", own, fields, ()).items():
                message[k][r, a] = value
        return message

    def receive(self, inbox: Inbox) -> None:
        """Call `receive` of every acting agent with the messages that arrived for it."""
        listening = self._acting("receive")
        if not listening:
            return
        arrived = inbox.arrived
        gathered = {field: inbox[field] for field in inbox.fields}
        wide = [k for k, v in gathered.items() if v.ndim > 3]
        for r, a in listening:
            heard = [{k: v[r, a, s] for k, v in gathered.items()} for s in np.flatnonzero(arrived[r, a])]
            for message in heard if wide else ():
                message.update((k, message[k].copy()) for k in wide)  # a view would expose all agents' values
            self._asked(r, a, "receive", heard, f"; a message here has: {', '.join(gathered)}")


def _learning(agent: object) -> None:
    """Raise `Unlearning` unless an agent receives rewards or messages, or declares ``blind = True``."""
    if not (hasattr(agent, "compose") or hasattr(agent, "receive") or getattr(agent, "blind", False) is True):
        cls = agent if isinstance(agent, type) else type(agent)
        ways = "define compose(reward) or receive(messages), or set blind = True"
        raise Unlearning(f"PerAgent({cls.__name__}): the agent never learns; {ways}")


def _an(field: Field) -> str:
    """Return a description of the valid values of an action's `field`, such as ``an integer in 0..9``."""
    low, high = field.range
    if field.form.kind == "b":
        return f"{field.shape[0]} bools" if field.shape else "a bool"
    span = f"in {low}..{high}" if field.high is not None else f"≥ {low}"
    return f"an integer {span}" if field.form.kind in "iu" else f"a number {span}"
