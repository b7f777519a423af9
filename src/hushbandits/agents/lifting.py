"""Teams that choose actions from a learner's observations, such as `FromFunction`, which calls a function."""

import inspect
from collections.abc import Callable, Mapping

import numpy as np
from gymnasium import spaces

from hushbandits.core.messages import Inbox, Observation
from hushbandits.core.metric import Metric
from hushbandits.core.random.streams import Streams
from hushbandits.core.task import EARNED, RLTask
from hushbandits.core.team import EnvView, Team, view_of
from hushbandits.core.utils import Action, Array, Message, Params, flag, shown
from hushbandits.core.validation import Space, Stacked, fits
from hushbandits.core.world import World


class TaskTeam(Team):
    """Base of teams that use the observations and actions of an env's reinforcement-learning task.

    Parameters
    ----------
    two_phase : bool
        False: the team chooses arms and message of a round at once. True: it chooses the message after it has seen its
        own reward.  The metric ``two_phase`` reports it.
    """

    metrics_spec: Mapping[str, Metric] = {
        "two_phase": Metric("whether pull and message are chosen in two steps", "share")
    }
    required_own_reward = ()  # its task adapts to the fields that the env returns
    #: Its task writes the message.
    any_fields = True
    #: Options of the task.
    _options: Params

    def __init__(self, two_phase: bool):
        self.two_phase = flag("two_phase", two_phase)

    def begin(self, rng: Streams) -> None:
        """Start R new runs, which draw from `rng`."""
        raise NotImplementedError(f"{type(self).__name__} must define begin(rng)")

    def choose(self, task: RLTask, pull: bool, talk: bool) -> Stacked:
        """Return all agents' actions ``(R, M, …)`` in the next step of `task`: a pull, a message, or both."""
        raise NotImplementedError(f"{type(self).__name__} must define choose(task, pull, talk)")

    def validate_env(self, env: World) -> None:
        """Raise ``ValueError`` if `env` has no task, or if its task does not accept the team's options."""
        self.look(view_of(env))

    def look(self, its: EnvView) -> RLTask:
        """Return the task, with the team's options, of the env behind the view `its`.

        An env without a horizon, or without a task that takes these options, raises ``ValueError``.
        """
        if its.horizon is None:
            raise ValueError(f"{self.name} needs the length of a run: give the env a horizon")
        if its.rl_task is None:
            raise ValueError(f"{self.name} needs an env with a task for learners; this env declares no such task")
        try:
            return its.rl_task.asked(its, self._options)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.name} cannot observe this env with its options: {error}") from None

    def metrics(self, env: World) -> dict[str, Array]:
        """Return ``two_phase`` (R,): whether the team chooses pull and message in two steps."""
        return {"two_phase": np.full(env.runs, self.two_phase)}

    def reset(self, env: World, rng: Streams) -> None:
        self._face = view_of(env)
        self._task = self.look(self._face)
        self._begun = False
        self.begin(rng)

    def act(self, obs: Observation) -> Action:
        """Return the pulls that `choose` selects; without `two_phase`, the same call also selects the messages."""
        task = self._task
        if not self._begun:
            task.begin(obs)
            self._begun = True
        task.obs = obs
        self._action = task.decode(self.choose(task, True, not self.two_phase))
        return task.arms(self._action)

    def compose(self, reward: Array) -> Message | None:
        task = self._task
        task.obs = Observation(self._face.t, self._face.running, task.obs.active_agents, reward)
        task.pulled(task.obs)
        return task.words(self._action if not self.two_phase else task.decode(self.choose(task, False, True)))

    def receive(self, inbox: Inbox) -> None:
        task = self._task
        task.heard(Observation(self._face.t, self._face.running, task.obs.active_agents, inbox=inbox))


def given_options(task: object) -> dict[str, object]:
    """Return the options of observations and actions, checked as far as possible without an env."""
    if task is None:
        return {}
    if not isinstance(task, Mapping):
        raise ValueError(f"task={shown(task)} must be a dict of a task's options, such as {{'agent_id': True}}")
    for name in task:
        if name in EARNED:
            raise ValueError(f"task: {name}={shown(task[name])} must be left out: it changes only training rewards")
    return dict(task)


class FromFunction(TaskTeam):
    """A team in which one function of observations chooses the actions of all agents in all runs at once.

    Observations and actions are those of a learner in the env (`hb.make`).

    Parameters
    ----------
    function : callable
        ``function(observations)`` → actions.  Observations are ``(R, A, D)`` float32, of the A agents that act (one in
        exploration, all elsewhere); ``env.layout`` of a view names their parts.  Actions are ``(R, A)`` or
        ``(R, A, parts)`` in the task's action space, or a dict of such arrays if that space is a dict.  Rows of runs
        that are over are ignored.  Parameters with these names are passed as well:

        * ``mask`` — ``(R, A, C)`` bools, the valid choices, as ``action_mask`` of a view,
        * ``active_agents`` — ``(R, A)``, the agents' indices,
        * ``rngs`` — R seeded generators, one per run, so that a run has the same results alone and in a batch.

        A method ``reset`` is called without arguments when runs begin.
    task : mapping, optional
        Options of the task, as for `hb.make`: ``{"action_format": "multidiscrete", "agent_id": True}``.
    two_phase : bool
        As for `hb.make`.
    name : str, optional
        Name of the team and of its random stream; default: the function's name.

    Raises
    ------
    ValueError
        `function` cannot be called, or is a class; or an option of `task` sets a learner's reward.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = {"n_agents": 4, "horizon": 50}
    >>> layout = hb.make("CoopNetwork-v0", **env).layout
    >>> def greedy(observations):
    ...     bonus = observations[..., layout["heard_width"]]
    ...     return (observations[..., layout["heard_mean"]] + 2 * bonus).argmax(-1)
    >>> hb.evaluate("CoopNetwork-v0", hb.FromFunction(greedy), runs=3, env=env).final("regret").shape
    (3,)
    """

    name = ""  # the function's, unless one was given

    def __init__(
        self,
        function: Callable[..., object],
        *,
        task: Params | None = None,
        two_phase: bool = False,
        name: str | None = None,
    ):
        if not callable(function) or isinstance(function, type) or not inspect.signature(function).parameters:
            raise ValueError(f"function={shown(function)} must be a function of observations that returns actions")
        super().__init__(two_phase)
        self._function, self._options = function, given_options(task)
        self._wants = {"mask", "active_agents", "rngs"} & {*inspect.signature(function).parameters}
        self.name = str(name or getattr(function, "__name__", type(function).__name__))

    def begin(self, rng: Streams) -> None:
        """Open one generator per run if the function takes `rngs`, and call the function's `reset` if it has one."""
        self._rngs = rng.generators() if "rngs" in self._wants else []
        if callable(reset := getattr(self._function, "reset", None)):
            reset()

    def choose(self, task: RLTask, pull: bool, talk: bool) -> Stacked:
        """Return the function's actions for the agents that act, and 0 for the others."""
        seen, who = task.observe(pull, talk), task.obs.active_agents
        rows = np.arange(len(who))[:, None]
        more: dict[str, object] = {"active_agents": who.copy(), "rngs": self._rngs}
        if "mask" in self._wants:
            more["mask"] = task.mask()[rows, who]
        stated = {name: more[name] for name in self._wants}
        return self._read(task.action_space, self._function(seen[rows, who], **stated), who, seen.shape[1])

    def _read(self, space: Space, answer: object, who: Array, agents: int) -> Stacked:
        """Return `answer` as actions in `space` of all `agents`, 0 for those not in `who`, or raise ``ValueError``."""
        if isinstance(space, spaces.Dict):
            if not isinstance(answer, Mapping) or set(answer) != set(space):
                raise ValueError(f"{self.name} must return a dict with keys {', '.join(space)}, not {shown(answer)}")
            return {name: self._read(part, answer[name], who, agents) for name, part in space.items()}
        try:
            action = np.asarray(answer)
        except Exception as error:  # for example a tensor that must be detached, or ragged lists
            raise ValueError(f"{self.name} must return an array of actions: {error}") from error
        if isinstance(space, spaces.Box) and action.dtype.kind == "f":
            action = action.astype(space.dtype)
        shape = (*who.shape, *(space.shape or ()))
        if action.shape != shape or not fits(space, action.reshape(-1, *shape[2:])):
            raise ValueError(
                f"{self.name} must return an array of shape {shape} with actions of {space}, not {shown(answer)} "
                f"({action.dtype}, shape {action.shape})"
            )
        full = np.zeros((len(who), agents, *shape[2:]), action.dtype)
        full[np.arange(len(who))[:, None], who] = action
        return full
