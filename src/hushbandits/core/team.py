"""`Team`, the base class of agents, and `EnvView`, the part of an env that a team can read.

One team controls all agents of all runs.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from hushbandits.core.guarantee import Guarantee, GuaranteeSource
from hushbandits.core.messages import Fields, Inbox, Observation
from hushbandits.core.metric import Metric
from hushbandits.core.random.rewards import LAWS
from hushbandits.core.random.streams import Streams
from hushbandits.core.utils import Action, Array, Message, Params, checked_names, shown
from hushbandits.core.validation import handed
from hushbandits.core.world import World
from hushbandits.core.wrapper import require

#: Attributes that every env shows to teams.
SHOWN = (
    "setting", "time_unit", "n_agents", "n_arms", "runs", "horizon", "actions", "fields", "inbox_fields", "sent_fields",
    "own_reward_fields", "reductions", "report", "rl_task",
)  # fmt: skip
#: Methods of the env that a team without an algorithm may call.
_ANSWERS = ("no_action", "random_action", "random_message", "standard_report")


class EnvView(World):
    """The public view of an env, which `Team.reset` receives.

    It shows sizes, horizon, declared fields, the law's family, the wrappers as configured, and what the setting
    declares as `Env.agent_visible` (a network its graph).  Arms' means, gaps, metrics, other agents' messages and
    pictures belong to the experimenter.

    Parameters
    ----------
    env : Env

    Examples
    --------
    >>> import hushbandits as hb
    >>> view = EnvView(hb.make_batched("CoopNetwork-v0", n_agents=4))
    >>> view.n_agents, view.distance.shape
    (4, (1, 4, 4))
    >>> view.metrics
    Traceback (most recent call last):
        ...
    AttributeError: a team cannot read 'metrics' of its env; a team can read: actions, adjacency, ...
    """

    def __init__(self, env: World):
        self._env = env
        self._shown = frozenset((*SHOWN, *env.agent_visible, "law", "wrappers", "running", "t"))

    def __deepcopy__(self, memo: object) -> "EnvView":
        return self  # it is no part of a team that keeps it

    @property
    def agents_speak(self) -> bool:
        """Return whether agents, not users, send the messages."""
        return bool(self._env.message_class.identified_senders)

    if not TYPE_CHECKING:  # where types are checked, it shows what `World` declares

        def __getattr__(self, name):
            if name.startswith("__") or "_shown" not in self.__dict__:
                raise AttributeError(name)
            if name in _ANSWERS:
                return getattr(self._env, name)
            if name not in self._shown:
                raise AttributeError(
                    f"a team cannot read {name!r} of its env; a team can read: {', '.join(sorted(self._shown))}"
                )
            value = self._env.configured if name == "wrappers" else getattr(self._env, name)
            for mine, configured in zip(self._env.wrappers, self._env.configured, strict=True):
                if value is mine:  # without the state of its runs
                    return configured
            if name == "law" and type(value) not in LAWS.values():
                own = f"the user-defined law {type(value).__name__}"
                raise AttributeError(f"a team cannot read the law of its env: {own} may contain the arms' parameters")
            if isinstance(value, np.ndarray):
                return handed(value)
            return MappingProxyType(value) if isinstance(value, dict) else value

    def __dir__(self) -> list[str]:
        return sorted({*self._shown, *_ANSWERS, "agents_speak"})


def view_of(env: World) -> "EnvView":
    """Return the view of `env`; return a view unchanged."""
    return env if isinstance(env, EnvView) else EnvView(env)


@contextmanager
def revealed(env: World) -> "Iterator[EnvView]":
    """Yield a view of `env` that also shows the arms, but only inside the ``with`` block.

    `Env.visible_after_episode` lists what it shows.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_batched("CoopNetwork-v0", n_agents=4)
    >>> obs = env.reset(0)
    >>> with revealed(env) as its:
    ...     its.means.shape
    (1, 10)
    >>> hasattr(its, "means")
    False
    """
    its = EnvView(env)
    shown = its._shown
    its._shown = shown | {*env.visible_after_episode}
    try:
        yield its
    finally:
        its._shown = shown


@dataclass(frozen=True)
class Requirements:
    """The parameters and wrappers that an agent requires of its env.

    Parameters
    ----------
    env : dict
        Env parameters that the agent's algorithm sets (a vote threshold); they are applied before the env
        is built, and an explicit value that differs is an error.
    wrappers : tuple of (str, dict)
        Registered wrappers that are part of the algorithm (private means) with their parameters; they go
        behind the caller's own.

    Examples
    --------
    >>> Requirements(env={"threshold": 3}, wrappers=(("Loss", {"rate": 0.1}),)).wrappers
    (('Loss', {'rate': 0.1}),)
    """

    env: Params = field(default_factory=dict)
    wrappers: tuple[tuple[str, Params], ...] = ()


class Team(GuaranteeSource):
    """Base class of teams, whose methods `act`, `compose` and `receive` work on ``(R, A, …)`` arrays.

    Examples
    --------
    >>> import numpy as np, hushbandits as hb
    >>> class First(hb.Team):
    ...     setting = "network"
    ...     def act(self, obs):
    ...         return np.zeros(obs.active_agents.shape, int)
    >>> env = hb.make_batched("CoopNetwork-v0", runs=2, n_agents=4, horizon=5)
    >>> hb.rollout(env, First(), seed=0)["regret"].shape
    (2,)
    """

    #: The setting it plays in (``exploration``, ``network``, ``feedback``); ``""``: any.
    setting: str = ""
    #: Fields of its messages; ``None``: it sends the env's standard report.
    fields: Fields | None = None
    #: Fields of own rewards that it needs; empty: it does not use its rewards.
    required_own_reward: tuple[str, ...] = ("reward",)
    #: Whether it can send any fields, if it declares none.
    any_fields: bool = False
    #: Fields that it needs in its inbox (``tally``: pulls and sums per arm).
    required_inbox: tuple[str, ...] = ()
    #: Whether its votes end every run that votes can end; an env without a horizon accepts only such teams.
    decides_runs: bool = False
    #: Declarations of its `metrics`; a class adds to those of its bases.
    metrics_spec: Mapping[str, Metric] = {}

    @property
    def name(self) -> str:
        """Return the team's name in tables and errors."""
        return type(self).__name__

    @property
    def stream(self) -> str:
        """Return the name of the team's random streams; teams with equal `stream` use the same random numbers."""
        return self.name

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Return the agent's requirements, given env parameters `settings` that reveal nothing about the arms."""
        return Requirements()

    def validate_env(self, env: "EnvView") -> None:
        """Raise ``ValueError`` if the team cannot play in `env`, the view of an env before its start."""

    def metrics(self, env: "EnvView") -> dict[str, Array]:
        """Return the team's own metrics after the last round, each ``(R, …)``; `env` is a view.

        `env` is the view of that game, and shows for the time of this call what the arms were
        (`Env.visible_after_episode`).  Of a user-defined `metrics`, a copy of the team is asked, so that no later game
        can go by what it sees.
        """
        return {}

    def runs_at_once(self, env: "EnvView") -> int | None:
        """Return how many runs of `env` (a view) to play at once, so that a round's arrays fit into the CPU caches.

        ``None``: any number.  No result depends on it; every part is played by a copy of the team as it was built.
        """
        return None

    def _borne_out(self, env: World) -> tuple[Guarantee, ...]:
        return self.claimed_guarantees(view_of(env))

    def reset(self, env: "EnvView", rng: Streams) -> None:
        """Start new runs in `env` (a view), with the random streams `rng`.

        Parameters
        ----------
        env : EnvView
            The view of the env (`play` hands out nothing else).
        rng : Streams
            Its own random streams: ``rng.uniforms(step, shape)``, ``rng.generator(run, seat)``, ``len(rng)`` runs.
        """

    def act(self, obs: Observation) -> Action:
        """Return the acting agents' action of phase 1, each field ``(R, A, …)``, given their observation `obs`."""
        raise NotImplementedError(f"{type(self).__name__} must define act(obs)")

    def compose(self, reward: Array) -> Message | None:
        """Return the message of phase 2; ``None`` stands for the env's default message.

        `reward` holds the agents' own rewards, ``(R, A, …)``; it is ``None`` where these are withheld
        (`required_own_reward`).
        """
        return None

    def receive(self, inbox: Inbox) -> None:
        """Process the messages that the acting agents received, ``(R, A, S, …)`` per field of `inbox`."""

    def episode(
        self, env: World, until: float = math.inf, stops: Sequence[float] = (), look: Callable[[], None] | None = None
    ) -> bool:
        """Play all runs of `env` in compiled code and return True, or return False if this is not possible.

        The results equal those of the phases bit by bit.

        Every run goes on until its clock has reached `until`, or to its end; the next call goes on from there, and so
        may the phases: what lies between is the env's and the team's state.  Where all clocks have reached the next of
        `stops`, which ascend, and at `until`, `look` is called.  It plays the env's side as well, so it is given the
        env itself: it is for built-in teams only.
        Returns whether it did.
        """
        return False


def check_compatible(env: World, team: Team) -> None:
    """Raise ``ValueError`` unless `team` can play in `env`: setting and fields must match, and every run must end.

    Parameters
    ----------
    env : Env
        Built, and not started.
    team : Team
        Its `validate_env` is called, too.

    Examples
    --------
    >>> import hushbandits as hb
    >>> check_compatible(hb.make_batched("CoopNetwork-v0"), hb.make_team("Multi-UCB"))
    >>> check_compatible(hb.make_batched("CoopNetwork-v0"), hb.make_team("DP-MASE"))
    Traceback (most recent call last):
        ...
    ValueError: ...
    """
    if not isinstance(env, World) or isinstance(env, EnvView) or not isinstance(team, Team):
        raise TypeError(
            f"env={shown(env)} must be an env from make_batched, and team={shown(team)} a team from make_team"
        )
    if team.setting and team.setting != env.setting:
        raise ValueError(f"{team.name} plays the {team.setting} setting, but this env has the {env.setting} setting")
    _speaks(env, team)
    checked_names(team.name, team, "required_inbox")
    require(f"the inbox of {team.name}", team.required_inbox, sorted({*env.inbox_fields, *env.reductions}))
    if missing := [name for name in team.required_own_reward if name not in env.own_reward_fields]:
        raise ValueError(
            f"{team.name} needs its agents' own {missing[0]}s, "
            f"but this env returns only {', '.join(env.own_reward_fields)}"
        )
    if not team.ships("episode"):
        raise ValueError(f"{team.name} must not define episode(env): only built-in teams may play a run in one call")
    team.validate_env(EnvView(env))
    env.admit(team)


def _speaks(env: World, team: Team) -> None:
    """Raise ``ValueError`` unless the fields that the team sends are exactly those that the env expects."""
    if team.fields is None and team.any_fields:
        return
    own, what, instead = team.fields, "its own fields", f"build the env with fields={team.name}.fields"
    if own is None:
        own, what = env.report, "the standard report"
        instead = "build the env without extra_fields= and fields=, or declare the fields in the team"
    said = {name: field.sized(env.n_arms) if field.per_arm else field for name, field in own.items()}
    if said != dict(env.fields):
        sends, expects = f"{team.name} sends {what} ({_listed(said)})", _listed(env.fields)
        raise ValueError(f"{sends}, but the env expects {expects}; {instead}")


def _listed(fields: Fields) -> str:
    forms = (f"{name} {f.form}{list(f.shape) or ''}{' latest' * f.latest}" for name, f in fields.items())
    return ", ".join(forms) or "nothing"
