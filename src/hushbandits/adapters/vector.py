"""The Gymnasium view: many runs at once as one `gymnasium.vector.VectorEnv`."""

from collections.abc import Mapping, Sequence

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from hushbandits.adapters.learners import Info, Rows, begun, checked_mode, spelled
from hushbandits.core import Array, Stacked, as_array, choice, integer, shown

_MODES = {mode.name.lower().replace("_", "-"): mode for mode in AutoresetMode}


class VectorView(VectorEnv[Array, Stacked, Array]):
    """A Gymnasium vector env with R runs of M agents, built by `make_vec`; each agent of each run is a sub-env.

    Sub-env ``i = r·M + m`` is agent m of run r, so ``num_envs`` is R·M, and ``x.reshape(env.runs, env.n_agents, …)``
    is run by run.  All agents of a run start and end together.  A step is a round; the horizon of a network or of
    feedback truncates, exploration terminates when it is decided.

    Infos have ``action_mask``, ``(num_envs, C)`` bool: which of an action's choices count next, those of all its parts
    in a row.  Where an episode has ended they have the run's ``metrics``: each agent its own (those that a run
    measures agent by agent), and every agent of the run what belongs to the run.  With ``"same-step"`` they stand in
    ``final_info``, beside ``final_obs``; masks ``_name`` say for whom, as is Gymnasium's way.

    Parameters
    ----------
    rows : Rows
        What is played.
    autoreset : str or AutoresetMode
        ``"same-step"``: a run that ends starts its next episode in the same step, and its last observation is in
        ``infos["final_obs"]``; ``"next-step"``: it starts in the next step, whose actions for it count for nothing and
        pay nothing; ``"disabled"``: it must be started by ``reset(options={"reset_mask": …})`` before the next step.
    render_mode : str, optional
        ``"ansi"`` or ``"rgb_array"``: of the first run.

    Attributes
    ----------
    runs, n_agents : int
        R and M.
    layout : mapping of str to slice
        Where each part of an observation lies.
    spec : EnvSpec or None
        What ``gymnasium.make_vec(env.spec)`` builds again; ``None`` where Gymnasium cannot: with `wrappers`, or an env
        of no registered id.
    np_random : numpy.random.Generator
        Seeded by `reset`, for the caller's use; the env draws nothing from it.
    """

    metadata: Info = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, rows: Rows, *, autoreset: str | AutoresetMode = "same-step", render_mode: str | None = None):
        known = isinstance(autoreset, AutoresetMode)
        self.autoreset_mode = autoreset if known else _MODES[choice("autoreset", autoreset, _MODES)]
        self.render_mode = checked_mode(render_mode, self.metadata["render_modes"])
        self._rows = rows
        self.core, self.task, self.layout = rows.core, rows.task, rows.task.layout
        self.runs, self.n_agents = rows.runs, rows.n_agents
        self.num_envs = self.runs * self.n_agents
        self.metadata = {**self.metadata, "name": spelled(self.core), "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = self.task.observation_space
        self.single_action_space = self.task.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._over = np.zeros(self.runs, bool)  # runs that wait for their next episode

    # -- the episodes -------------------------------------------------------------------------------------------

    def reset(self, *, seed: int | Sequence[int] | None = None, options: Info | None = None) -> tuple[Array, Info]:
        """Start episodes of all runs, or of the runs in ``reset_mask``; return observations and infos of all sub-envs.

        Parameters
        ----------
        seed : int or sequence of int, optional
            One for all: run r plays what ``make_batched(id, runs=R).reset(seed)`` plays as its row r, and its later
            episodes are the same whatever the other runs do.  One for each run, or for each sub-env and then equal in
            a run: run r plays what ``make(id).reset(seed[r])`` plays.  ``None``: the next episodes of the stream that
            a seed began, or fresh entropy if none has.
        options : mapping, optional
            ``{"reset_mask": (num_envs,) bools}``: start the marked runs alone; all agents of a run, or none.

        Raises
        ------
        ValueError
            A bad seed or mask, or other options: parameters of the env are given to `make_vec`.
        """
        own = self._by_run(seed) if isinstance(seed, Sequence | np.ndarray) else seed
        rows = self._masked(seed, options)
        observation = self._rows.reset(own, rows)
        if own is not None:
            super().reset(seed=int(own[0] if isinstance(own, list) else own))
        self._over[slice(None) if rows is None else rows] = False
        return self._flat(observation), self._infos()

    def _by_run(self, seeds: Sequence[int] | Array) -> list[int]:
        """Return the seed of each run, given `seeds` of all runs or of all sub-envs."""
        numbers = [int(integer("seed", one, 0, np.inf)) for one in seeds]
        each = len(numbers) // self.runs
        own = numbers[::each] if each in (1, self.n_agents) else []
        if len(own) != self.runs or numbers != [one for one in own for _ in range(each)]:
            raise ValueError(
                f"seed={shown(seeds)} must have one seed for each of {self.runs} runs, or for each of {self.num_envs} "
                f"sub-envs, equal for all agents of a run"
            )
        return own

    def _masked(self, seed: int | Sequence[int] | None, options: Info | None) -> Array | None:
        """Return the numbers of the runs in ``reset_mask``, or ``None`` for all runs."""
        asked = {} if options is None else options
        if not isinstance(asked, Mapping) or set(asked) - {"reset_mask"}:
            raise ValueError(f"options={shown(options)} of reset must be a dict with 'reset_mask' as its only key")
        if "reset_mask" not in asked:
            return None
        mask = as_array(asked["reset_mask"])
        if mask.shape != (self.num_envs,) or mask.dtype != bool or not mask.any():
            raise ValueError(
                f"options['reset_mask']={shown(asked['reset_mask'])} must be {self.num_envs} bools, at least one True"
            )
        runs = mask.reshape(self.runs, self.n_agents)
        if (split := np.flatnonzero(runs.any(1) & ~runs.all(1))).size:
            first = split[0] * self.n_agents
            where = f"run {split[0]}, sub-envs {first}..{first + self.n_agents - 1}"
            raise ValueError(f"options['reset_mask'] must be equal for all agents of a run, but differs within {where}")
        if runs.all():
            return None
        begun(self._rows.begun, "reset of some runs")
        if seed is not None:
            raise ValueError(f"seed={shown(seed)} needs a reset of all runs, but options['reset_mask'] excludes some")
        return np.flatnonzero(runs[:, 0])

    def step(self, actions: Stacked) -> tuple[Array, Array, Array, Array, Info]:
        """Play a round with an action of every sub-env.

        Raises
        ------
        ValueError
            An action outside its space; nothing has happened then.
        RuntimeError
            A run has not begun, or is over and nobody has started its next episode.
        """
        begun(self._rows.begun, "step")
        waiting = self.autoreset_mode is not AutoresetMode.SAME_STEP and self._over.any()
        if waiting and self.autoreset_mode is AutoresetMode.DISABLED:
            raise RuntimeError(
                f"step after the end of run {np.argmax(self._over)}: call reset(options={{'reset_mask': …}}) first"
            )
        action = self._rows.read(actions)
        if waiting and self._over.all():
            self._over[:] = False
            return self._flat(self._rows.reset()), np.zeros(self.num_envs), *self._no(), self._infos()
        reward, over, solved = self._rows.step(action)
        if waiting:
            self._rows.reset(rows=np.flatnonzero(self._over))
            self._over[:] = False
        ended = over.nonzero()[0]
        if not len(ended):
            return self._flat(self.task.observe()), reward.reshape(-1), *self._no(), self._infos()
        done, solved = over.repeat(self.n_agents), solved.repeat(self.n_agents)
        at = done.nonzero()[0]
        facts: Info = {"metrics": self._metrics(ended, at, done), "_metrics": done}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            final, last = np.empty(self.num_envs, object), self.task.observe(rows=ended)
            final[at] = np.fromiter(last.reshape(len(at), -1), object, len(at))
            facts = {"final_obs": final, "_final_obs": done, "final_info": facts, "_final_info": done}
            observation = self._rows.reset(rows=ended)
        else:
            self._over, observation = over.copy(), self.task.observe()
        return self._flat(observation), reward.reshape(-1), solved, done & ~solved, {**self._infos(), **facts}

    def _no(self) -> tuple[Array, Array]:
        return np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool)

    # -- infos --------------------------------------------------------------------------------------------------

    def _flat(self, observation: Array) -> Array:
        return observation.reshape(self.num_envs, -1)

    def _infos(self) -> Info:
        """Return the infos: action masks and labels."""
        infos: Info = {}
        for name, label in self.task.labels.items():
            infos |= {name: np.full(self.num_envs, label, object), f"_{name}": np.ones(self.num_envs, bool)}
        infos["action_mask"] = self.task.mask().reshape(self.num_envs, -1)
        infos["_action_mask"] = (~self._over).repeat(self.n_agents)
        return infos

    def _metrics(self, ended: Array, at: Array, done: Array) -> Info:
        facts, several = {}, self.n_agents > 1
        for name, value in self.core.metrics(ended).items():
            own = value.shape[1:] == (self.n_agents,)
            each = value.reshape(-1) if own else value.repeat(self.n_agents, 0) if several else value
            facts[name] = fact = np.zeros((self.num_envs, *each.shape[1:]), value.dtype)
            fact[at] = each
            facts[f"_{name}"] = done
        return facts

    def state(self) -> Array:
        """Return the observations of all agents, concatenated for each run, ``(R, M·D)``."""
        begun(self._rows.begun, "state")
        return self.task.state()

    def render(self) -> tuple[str | Array, ...]:
        """Return a tuple with a text or an ``(H, W, 3)`` picture of the first run."""
        import hushbandits.adapters.render as render

        begun(self._rows.begun, "render")
        if self.render_mode is None:
            modes = self.metadata["render_modes"]
            raise RuntimeError(f"render needs an env from make_vec(…, render_mode=…); the modes are {modes}")
        core, name = self.core, spelled(self.core).removeprefix("hushbandits/")
        facts = f"run 1 of {self.runs} · {core.time_unit} {int(core.t[0]):,} of {core.horizon:,}"
        return (render.frame(self.task, f"{name} · {facts}", self.render_mode),)
