"""The PettingZoo view: one run of an array core as a `ParallelEnv`."""

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from hushbandits.adapters.learners import Episodes, Info, begun, checked_mode, of_run, spelled
from hushbandits.core import Array, Env, Params, RLTask, Seeds, Space, Stacked, Team, flag, integer, shown
from hushbandits.core.validation import stacked
from hushbandits.guarantee_table import DELTA, PrivacyReport, privacy_report
from hushbandits.registry import AnyAgent, make_batched

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Infos = dict[str, dict[str, object]]


class ParallelView(ParallelEnv[str, Array, object]):
    """A PettingZoo parallel env of one run of an array core, with agents ``agent_0``, ``agent_1``, ….

    A *merged* step (``two_phase=False``) is a round of the core with one action: its arms are pulled, then its message
    is sent, which was chosen before the reward was seen.  ``two_phase=True`` makes pull and talk separate steps, so
    that a message may depend on the pull just made.  Where a learner sends no fields (network without `extra_fields`,
    feedback) both are equivalent; the last infos say which it was (``two_phase``, ``metrics``).

    Parameters
    ----------
    core : Env
        An array core of one run, with a horizon.
    two_phase : bool
        False: a step is a round, whose message is chosen with the pull.  True: each phase of a round is a step.
    render_mode : str, optional
        ``"ansi"``, ``"rgb_array"`` or ``"human"``.
    max_cycles : int, optional
        Steps after which an episode is cut (truncation); may be set at any time.
    metrics_in_info : bool
        Whether every info has the run's metrics so far; otherwise only the last infos have them.
    **options
        The task's own, such as ``action_format`` (see `RLTask` and the settings' tasks).

    Attributes
    ----------
    layout : mapping of str to slice
        Where each part of an observation lies: ``obs["agent_0"][env.layout["own_mean"]]``.
    state_space : spaces.Box
        All agents' observations in a row.
    """

    metadata: Params = {"render_modes": ["human", "rgb_array", "ansi"], "is_parallelizable": True, "render_fps": 10}  # noqa: RUF012

    def __init__(
        self,
        core: Env,
        *,
        two_phase: bool = False,
        render_mode: str | None = None,
        max_cycles: int | None = None,
        metrics_in_info: bool = False,
        **options: object,
    ):
        if core.runs != 1 or core.horizon is None:
            raise ValueError(f"ParallelView needs runs=1 and a horizon, not runs={core.runs}, horizon={core.horizon}")
        self.core, self.two_phase = core, flag("two_phase", two_phase)
        self.render_mode = checked_mode(render_mode, self.metadata["render_modes"])
        self.max_cycles = None if max_cycles is None else integer("max_cycles", max_cycles, 1)
        self.metrics_in_info = flag("metrics_in_info", metrics_in_info)
        #: What the task was asked for.
        self.options = options
        self.task = core.task(**options)
        self.layout = self.task.layout
        self.metadata = {**self.metadata, "name": spelled(core)}
        self.possible_agents = [f"agent_{m}" for m in range(core.n_agents)]
        self.agents: list[str] = []
        # A space carries a generator: with a shared one, seeding an agent's would seed everybody's.
        box, act = self.task.observation_space, self.task.action_space
        self.observation_spaces = {agent: copy.deepcopy(box) for agent in self.possible_agents}
        self.action_spaces = {agent: copy.deepcopy(act) for agent in self.possible_agents}
        self.state_space = spaces.Box(np.tile(box.low, core.n_agents), np.tile(box.high, core.n_agents))
        self._episodes = Episodes(1)
        self._home: tuple[Env, RLTask] | None = None  # what options of one episode have replaced
        self._begun = self._over = False
        self._window: Figure | None = None

    # -- spaces -----------------------------------------------------------------------------------------------

    def observation_space(self, agent: str) -> Space:
        """Return the observation space of `agent`, the same object at each call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space:
        """Return the action space of `agent`, the same object at each call."""
        return self.action_spaces[agent]

    # -- the episode --------------------------------------------------------------------------------------------

    def reset(self, seed: int | None = None, options: Params | None = None) -> tuple[dict[str, Array], Infos]:
        """Start an episode; return a dict of observations and a dict of infos, with agents as keys.

        Parameters
        ----------
        seed : int, optional
            Plays run 0 of ``core.reset(seed)``; ``None``: the next episode of the stream that a seed
            began, or fresh entropy if none has.
        options : mapping, optional
            Parameters of the env for this episode alone, such as ``{"means": [.9, .1]}`` or ``{"graph": "star"}``;
            they may not change its spaces.

        Raises
        ------
        ValueError, TypeError
            A bad seed, or options that the env does not take or that would change its spaces.
        """
        self._take(options)
        number = None if seed is None else int(integer("seed", seed, 0, np.inf))
        self.task.reset(self._episodes.start(number, self.core))
        self.agents = self.possible_agents[:]
        self._begun, self._over, self._cycles = True, False, 0
        self._open = False  # whether a round waits for its talk
        return self._returned()

    def repeat(self, seeds: Seeds) -> None:
        """Make every episode that begins without a seed replay the run with the seeds `seeds`, ``(1, 3)``."""
        self._episodes = Episodes(1, seeds)

    def _take(self, options: Params | None) -> None:
        """Use a core with the parameters `options` for one episode; without parameters, use the original core."""
        if not isinstance(options, Mapping | None):
            raise TypeError(f"options={shown(options)} of reset must be a dict of the env's parameters, or None")
        # PettingZoo's own tests say {"options": 1}.
        asked = {name: value for name, value in (options or {}).items() if name != "options"}
        core, task = self._home or (self.core, self.task)
        if not asked:
            self.core, self.task, self._home = core, task, None
            return
        given = f"options={shown(asked)} of reset"
        if fixed := [name for name in asked if name in ("runs", "wrappers")]:
            raise ValueError(f"{given} cannot change {fixed[0]}: make another env")
        if core.spec is None:
            raise ValueError(f"{given} must be None, because hb.make did not build this env: make another env")
        id, kwargs, wrappers = core.spec
        other = make_batched(id, wrappers=wrappers, **{**kwargs, **asked})
        its = other.task(**self.options)
        same = other.n_agents == core.n_agents
        if not same or (its.action_space, its.observation_space) != (task.action_space, task.observation_space):
            raise ValueError(f"{given} would change the spaces: make another env")
        self.core, self.task, self._home = other, its, (core, task)

    def step(
        self, actions: Mapping[str, object]
    ) -> tuple[dict[str, Array], dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Play one step with an action of every agent.

        Raises
        ------
        ValueError
            An action is missing, outside its space, or of an unknown agent; the env is unchanged then.
        RuntimeError
            The episode has not begun, or is over.
        """
        if not self.agents:
            when = "before the start" if not self._begun else "after the end"
            raise RuntimeError(f"step {when} of an episode: call reset() first")
        action, agents = self._read(actions), self.agents
        reward, solved = self._play(action)
        observations, infos = self._returned()
        if self._over:
            self.agents = []
        paid = dict(zip(agents, reward.tolist(), strict=False))  # strict=True takes a third longer
        ends, cuts = dict.fromkeys(agents, solved), dict.fromkeys(agents, self._over and not solved)
        return observations, paid, ends, cuts, infos

    def _read(self, actions: Mapping[str, object]) -> Stacked:
        if type(actions) is not dict and not isinstance(actions, Mapping):
            raise TypeError(f"actions={shown(actions)} must be a dict with an action of every agent")
        try:
            values = list(map(actions.__getitem__, self.agents))
        except KeyError as missing:
            raise ValueError(f"actions lack agent {missing.args[0]!r}: every agent acts in every step") from None
        if len(actions) != len(values):
            unknown = next(name for name in actions if name not in self.possible_agents)
            raise ValueError(f"actions have the key {unknown!r}, which is not an active agent")
        return stacked(self.task.action_space, values, self.agents, (1, len(values)))

    def _play(self, action: Stacked) -> tuple[Array, bool]:
        """Play a step; return the rewards, ``(M,)``, and whether the episode terminated."""
        task = self.task
        self._cycles += 1
        cut = self.max_cycles is not None and self._cycles >= self.max_cycles
        if not self.two_phase:
            reward = task.step(action)
        else:
            reward = task.communicate(action) if self._open else task.pull(action)
            self._open = not self._open
        live = self._open or bool(task.obs.running[0])  # a last pull still waits for its talk
        self._over = cut or not live
        if self._over:
            reward = reward + task.final_reward()[:, None]
        return reward[0], not live and bool(task.solved()[0])

    def _returned(self) -> tuple[dict[str, Array], Infos]:
        """Return observations and infos as dicts with agents as keys; in mode ``human``, also render.

        Observations are copies, because rows are views of one array.  At the end they are as if the episode went on, so
        that a learner can estimate their value.
        """
        task, over, names = self.task, self._over, self.possible_agents
        seen = task.observe(not self.two_phase or not self._open, not self.two_phase or self._open)[0]
        infos: Infos = {name: {} for name in names} if over else {
            name: {"action_mask": mask} for name, mask in zip(names, task.sample_masks(), strict=False)
        }  # fmt: skip
        if over or self.metrics_in_info or task.labels:
            stated = {**task.labels, **({"two_phase": self.two_phase} if over else {})}
            metrics = self.metrics() if over or self.metrics_in_info else None
            for info in infos.values():
                info.update(stated)
                if metrics is not None:
                    info["metrics"] = {name: copy.copy(value) for name, value in metrics.items()}
        if self.render_mode == "human":
            self.render()
        return dict(zip(names, map(np.ndarray.copy, seen), strict=False)), infos

    # -- looking at it ------------------------------------------------------------------------------------------

    def state(self) -> Array:
        """Return the observations of all agents, concatenated, ``(M·D,)``."""
        begun(self._begun, "state")
        own: Array = self.task.state()[0]
        return own

    def metrics(self) -> dict[str, float | Array]:
        """Return the metrics of the run so far, by name: a number, or an array ``(M,)`` for a per-agent metric."""
        return of_run(self.core.metrics(), 0)

    def privacy(self, agent: AnyAgent | Team | None = None, *, delta: float = DELTA) -> PrivacyReport:
        """Return the report of `hushbandits.privacy_report` on this env and `agent`, at `delta`."""
        return privacy_report(self.core, agent, delta=delta)

    def render(self) -> str | Array | None:
        """Return a text (``ansi``) or an ``(H, W, 3)`` uint8 picture (``rgb_array``), or show a window (``human``)."""
        import hushbandits.adapters.render as render

        begun(self._begun, "render")
        if self.render_mode is None:
            modes = self.metadata["render_modes"]
            raise RuntimeError(f"render needs an env from make(…, render_mode=…); the modes are {modes}")
        title = render.title(self.core, spelled(self.core).removeprefix("hushbandits/"), self._over)
        if self.render_mode != "human":
            return render.frame(self.task, title, self.render_mode)
        self._window = render.show(self.task, title, self._window)
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            from matplotlib import pyplot as plt

            plt.close(self._window)
            self._window = None

    @property
    def settings(self) -> Info:
        """Return the constructor's arguments except the core."""
        own = {name: getattr(self, name) for name in ("two_phase", "render_mode", "max_cycles", "metrics_in_info")}
        return {**own, **self.options}

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_window": None}  # a window stays where it is
