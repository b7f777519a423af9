"""`Each` lifts a plain one-agent class to a team."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hushbandits.core.messages import Fields, Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.tapes import stream
from hushbandits.core.team import Team
from hushbandits.core.types import Array, Seeds

if TYPE_CHECKING:
    from hushbandits.core.env import Env

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
    >>> env = hb.make_vec("CoopNetwork-v0", n_agents=4, horizon=3)
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

    def reset(self, env: Env, seeds: Seeds) -> None:
        """Build the M agents of every run."""
        self._env = env
        told = {"n_arms": env.n_arms} if "n_arms" in inspect.signature(self._factory).parameters else {}
        self._seats = [
            [self._factory(m, stream(seed, f"agent/{self.name}/{m}"), **told) for m in range(env.n_agents)]
            for seed in seeds
        ]

    def _acting(self) -> list[tuple[int, int, Any]]:
        live = self._env.live
        return [(r, a, self._seats[r][m]) for r, row in enumerate(self._who) for a, m in enumerate(row) if live[r]]

    def act(self, obs: Obs) -> Any:
        """Ask every acting agent for its arm."""
        self._who, self._t = obs.who.copy(), obs.t
        acting = self._acting()
        if self._env.setting == "feedback":
            arm, n = np.zeros(obs.who.shape, int), np.ones(obs.who.shape, int)
            for r, a, agent in acting:
                arm[r, a], n[r, a] = agent.act(int(obs.t[r]) + 1)
            return arm, n
        wide = self._env.setting == "exploration"
        action = np.zeros((*obs.who.shape, self._env.n_arms), bool) if wide else np.zeros(obs.who.shape, int)
        for r, a, agent in acting:
            action[r, a] = agent.act(int(obs.t[r]) + 1)
        return action

    def speak(self, reward: Array) -> dict[str, Any] | None:
        """Collect the agents' messages."""
        said = {(r, a): agent.speak(reward[r, a]) for r, a, agent in self._acting() if hasattr(agent, "speak")}
        said = {seat: words for seat, words in said.items() if words is not None}
        if self.fields is None and not said:
            return None
        # Whoever says nothing of its own sends the standard report, if that is what the team sends at all.
        message: dict[str, Any] = {
            k: np.zeros((*self._who.shape, *f.shape), f.dtype) for k, f in self._env.fields.items()
        }
        message["sent"] = np.zeros(self._who.shape, bool)
        if self.fields is None:
            message.update(self._env._report())
            message["sent"] = np.ones(self._who.shape, bool)
        for (r, a), words in said.items():
            message["sent"][r, a] = True
            for k, v in words.items() if isinstance(words, dict) else [("vote", words)]:
                message[k][r, a] = v
        return message

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
