"""`Team`, the base of agent code: one team controls all agents of all runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hushbandits.core.env_view import World, view_of
from hushbandits.core.guarantee import Guarantee, GuaranteeSource
from hushbandits.core.messages import Fields, Inbox, Observation
from hushbandits.core.metric import Metric
from hushbandits.core.random.streams import Streams
from hushbandits.core.utils import Action, Array, Message, Params


@dataclass(frozen=True)
class Requirements:
    """The parameters and wrappers that an agent needs of its env.

    Parameters
    ----------
    env : dict
        Env parameters that the agent's algorithm sets (a vote threshold); they are applied before the env
        is built, and an explicit value that differs is an error.
    wrappers : tuple of (str, dict)
        Registered wrappers that are part of the algorithm (private means) with their parameters; they go
        behind the caller's own.
    """

    env: Params = field(default_factory=dict)
    wrappers: tuple[tuple[str, Params], ...] = ()


class Team(GuaranteeSource):
    """Base of all teams: `act`, `compose` and `receive` on ``(R, A, …)`` arrays.

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
        """Return the name of its random streams: teams with the same name draw the same numbers."""
        return self.name

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Return the agent's requirements; `settings` are env parameters that reveal nothing about arms."""
        return Requirements()

    def validate_env(self, env: World) -> None:
        """Raise ``ValueError`` if the team cannot play in `env` (its view, before the start)."""

    def metrics(self, env: World) -> dict[str, Array]:
        """Return the algorithm's own metrics after the last round, each ``(R, …)``.

        `env` is the view of that game, and shows for the time of this call what the arms were
        (`Env.visible_after_episode`).  A copy of the team is asked, so that no later game can go by what it sees.
        """
        return {}

    def runs_at_once(self, env: World) -> int | None:
        """Return how many runs of `env` (its view) to play at once, so that a round's arrays fit the caches.

        ``None``: any number.  No result depends on it; every part is played by a copy of the team as it was built.
        """
        return None

    def _borne_out(self, env: World) -> tuple[Guarantee, ...]:
        return self.claimed_guarantees(view_of(env))

    def reset(self, env: World, rng: Streams) -> None:
        """Start R new runs.

        Parameters
        ----------
        env : EnvView
            The view of the env (`play` hands out nothing else).
        rng : Streams
            Its own random streams: ``rng.uniforms(step, shape)``, ``rng.generator(run, seat)``, ``len(rng)`` runs.
        """

    def act(self, obs: Observation) -> Action:
        """Choose the arms in phase 1: each field of an action is ``(R, A, …)``; `obs` names the acting agents."""
        raise NotImplementedError(f"{type(self).__name__} must define act(obs)")

    def compose(self, reward: Array) -> Message | None:
        """Return the message of phase 2; ``None`` stands for the env's default message.

        `reward` holds the agents' own rewards, ``(R, A, …)``; it is ``None`` where these are withheld
        (`required_own_reward`).
        """
        return None

    def receive(self, inbox: Inbox) -> None:
        """Process the messages that arrived: `inbox` has fields ``(R, A, S, …)`` and their sums."""

    def episode(
        self, env: World, until: float = math.inf, stops: Sequence[float] = (), look: Callable[[], None] | None = None
    ) -> bool:
        """Play all runs of `env` in compiled code, if it exists for this env; the results equal the phases bit by bit.

        Every run goes on until its clock has reached `until`, or to its end; the next call goes on from there, and so
        may the phases: what lies between is the env's and the team's state.  Where all clocks have reached the next of
        `stops`, which ascend, and at `until`, `look` is called.  It plays the env's side as well, so it is given the
        env itself: it is for built-in teams only.
        Returns whether it did.
        """
        return False
