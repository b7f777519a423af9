"""`Each` lifts a plain one-agent class to a team."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hushbandits.core.edge import as_array, checked
from hushbandits.core.face import face
from hushbandits.core.messages import Fields, Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.tapes import own_stream
from hushbandits.core.team import Team
from hushbandits.core.types import Array, Seeds
from hushbandits.core.validate import nearest
from hushbandits.core.world import World

__all__ = ["Each"]


class Each(Team):
    """One object per seat and run, exactly as if each agent ran on its own machine.

    Parameters
    ----------
    factory : callable
        ``factory(m, rng)`` builds agent m; `rng` is its own seeded ``numpy.random.Generator``.  If it has
        a parameter ``n_arms``, it is told K by that name.  The object has

        * ``act(t)`` → its arm in round t = 1, 2, … (exploration: K bools; feedback: ``(arm, n)``),
        * ``speak(reward)`` → a dict of its message's fields, or ``None`` for the standard report
          (exploration: K bools of votes, or ``None`` for none),
        * ``hear(messages)`` ← a list of dicts, one per message that arrived.

        `speak` and `hear` may be missing.
    setting : str, optional
        ``"network"`` etc.; default: any.
    fields : Fields, optional
        Fields of its messages, where it does not send the standard report.
    name : str
        Names its random tapes.

    Examples
    --------
    >>> import hushbandits as hb
    >>> class Stubborn:
    ...     def __init__(self, m, rng):
    ...         self.arm = m % 2
    ...     def act(self, t):
    ...         return self.arm
    >>> env = hb.make_core("CoopNetwork-v0", n_agents=4, horizon=3)
    >>> hb.play(env, hb.Each(Stubborn))["regret"].shape
    (1,)
    """

    def __init__(
        self,
        factory: Callable[..., Any],
        *,
        setting: str = "",
        fields: Fields | None = None,
        name: str | None = None,
    ):
        self._factory = factory
        self._name = name or str(getattr(factory, "__name__", "Each"))
        self.setting = setting  # type: ignore[misc]
        self.fields = fields

    @property
    def name(self) -> str:
        """The factory's name, unless one was given."""
        return self._name

    def reset(self, env: World, seeds: Seeds) -> None:
        """Build the M agents of every run."""
        self._face = face(env)
        told = {"n_arms": env.n_arms} if "n_arms" in inspect.signature(self._factory).parameters else {}
        # An agent is a stranger: its generator's ancestry tells it nothing about the run's other tapes.
        self._seats = [
            [self._factory(m, own_stream(seed, f"agent/{self.name}/{m}"), **told) for m in range(env.n_agents)]
            for seed in seeds
        ]

    def _acting(self) -> list[tuple[int, int, Any]]:
        live = self._face.live
        return [(r, a, self._seats[r][m]) for r, row in enumerate(self._who) for a, m in enumerate(row) if live[r]]

    def _name_of(self, r: int, a: int) -> str:
        return f"agent {self._who[r, a]} of {self.name} in round {int(self._t[r]) + 1} of run {r}"

    def act(self, obs: Obs) -> Any:
        """Ask every acting agent for its arm."""
        self._who, self._t = obs.who.copy(), obs.t.copy()
        shape, k = obs.who.shape, self._face.n_arms
        rule = _ACTS[self._face.setting](k)
        action = np.zeros((*shape, *rule.shape), bool if rule.kind == "b" else np.int64)
        for r, a, agent in self._acting():
            action[r, a] = self._took(rule, agent.act(int(obs.t[r]) + 1), "act", r, a)
        if self._face.setting != "feedback":
            return action
        live = self._face.live[:, None]
        return action[..., 0], np.where(live, action[..., 1], 1)

    def _took(self, rule: _Rule, value: Any, verb: str, r: int, a: int) -> Array:
        array = as_array(value)
        fits = array.shape == rule.shape and array.dtype.kind in ("b" if rule.kind == "b" else "iu")
        if fits and rule.kind != "b":
            fits = bool(((array >= rule.low) & (array <= rule.high)).all())
        if not fits:
            raise ValueError(f"{self._name_of(r, a)}: {verb} must return {rule.says}, not {_brief(value)}")
        return array

    def speak(self, reward: Array) -> dict[str, Any] | None:
        """Collect the agents' messages."""
        said = {(r, a): agent.speak(reward[r, a]) for r, a, agent in self._acting() if hasattr(agent, "speak")}
        said = {seat: words for seat, words in said.items() if words is not None}
        if self.fields is None and not said:
            return None
        fields = self._face.fields
        # Whoever says nothing of its own sends the standard report, if that is what the team sends at all.
        message: dict[str, Any] = {k: np.zeros((*self._who.shape, *f.shape), f.dtype) for k, f in fields.items()}
        message["sent"] = np.zeros(self._who.shape, bool)
        if self.fields is None:
            message.update({k: np.array(v) for k, v in self._face._report().items()})
            message["sent"] = np.ones(self._who.shape, bool)
        for (r, a), words in said.items():
            message["sent"][r, a] = True
            for k, value in self._words(words, r, a).items():
                message[k][r, a] = value
        return message

    def _words(self, words: Any, r: int, a: int) -> dict[str, Any]:
        """What an agent said, field by field, checked."""
        fields = self._face.fields
        if self._face.setting == "feedback":
            raise ValueError(f"{self._name_of(r, a)}: speak must return None, for in feedback the users speak")
        if not isinstance(words, dict):
            if "vote" not in fields:
                known = ", ".join(fields)
                raise ValueError(
                    f"{self._name_of(r, a)}: speak must return None or a dict of {known}, not {_brief(words)}"
                )
            words = {"vote": words}
        for name in words:
            if name not in fields:
                raise ValueError(f"{self._name_of(r, a)}: speak returns a field {name!r}{nearest(str(name), fields)}")
        what = f"what {self._name_of(r, a)} says in field"
        return {name: checked(f"{what} {name!r}", value, fields[name], ()) for name, value in words.items()}

    def hear(self, inbox: Inbox) -> None:
        """Hand every agent its own messages."""
        listening = [(r, a, agent) for r, a, agent in self._acting() if hasattr(agent, "hear")]
        if not listening:
            return
        arrived = inbox.arrived
        gathered = {field: inbox[field] for field in inbox.fields}
        for r, a, agent in listening:
            slots = np.flatnonzero(arrived[r, a])
            agent.hear([{k: v[r, a, s] for k, v in gathered.items()} for s in slots])


class _Rule(NamedTuple):
    """What `act` must return."""

    shape: tuple[int, ...]
    kind: str
    low: Any
    high: Any
    says: str


#: By setting, given K.
_ACTS: dict[str, Callable[[int], _Rule]] = {
    "network": lambda k: _Rule((), "i", 0, k - 1, f"an arm, an integer in 0..{k - 1}"),
    "exploration": lambda k: _Rule((k,), "b", 0, 1, f"{k} bools, the arms that it pulls"),
    "feedback": lambda k: _Rule(  # a server whose users are used up may say 0
        (2,), "i", 0, np.array([k - 1, np.iinfo(np.int64).max]), f"a pair (arm, n), integers in 0..{k - 1} and ≥ 1",
    ),
}  # fmt: skip


def _brief(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
