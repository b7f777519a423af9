"""The Stable-Baselines3 view: a ``VecEnv`` in which every agent of every run is a sub-env."""

from collections.abc import Iterable, Sequence

import numpy as np

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise ImportError(f"make_sb3 needs stable-baselines3: pip install 'hushbandits[sb3]' ({error})") from None

from gymnasium import spaces

from hushbandits.adapters.learners import Info, Rows, begun, checked_mode, of_run
from hushbandits.core import Array, Env, shown

#: What a sub-env may be asked for by name.
_READABLE = ("action_masks", "action_space", "metadata", "observation_space", "render_mode", "spec")

#: Which sub-envs; ``None``: all.
_Indices = int | Iterable[int] | None


class RowsVecEnv(VecEnv):
    """A ``VecEnv`` of R·M sub-envs: sub-env ``r·M + m`` is agent m of run r.

    An episode that ends starts the run's next one in the same step; the infos of its agents then hold
    ``terminal_observation``, ``TimeLimit.truncated`` (the horizon came first: a learner bootstraps there, unless
    `truncates` is false) and the run's ``metrics``, said to each of its agents.  After ``seed(s)`` the next `reset`
    plays the runs that ``make_batched(id, runs).reset(s)`` plays; without one, the stream of episodes goes on.

    Parameters
    ----------
    rows : Rows
    render_mode : str, optional
        ``"rgb_array"``: `get_images` returns the picture of the first run.
    """

    spec = None
    #: Whether the horizon truncates an episode, so that a learner bootstraps there; else it ends the episode.
    truncates = True

    def __init__(self, rows: Rows, render_mode: str | None = None):
        task = rows.task
        if isinstance(task.action_space, spaces.Dict):
            raise ValueError(
                f"Stable-Baselines3 accepts no Dict action space such as {task.action_space}: "
                f"choose action_format='multidiscrete', and extra_fields of bits only"
            )
        self.rows, self.render_mode = rows, checked_mode(render_mode, ["rgb_array"])
        self.core: Env = rows.core  # which `hushbandits.privacy_report` reads
        #: Where each part of an observation lies.
        self.layout = task.layout
        self._action = np.zeros(0)
        super().__init__(rows.runs * rows.n_agents, task.observation_space, task.action_space)

    # -- the episode --------------------------------------------------------------------------------------------

    def reset(self) -> Array:
        """Start the episodes of all sub-envs; return observations ``(R·M, D)``."""
        if asked := next(filter(None, self._options), None):
            raise ValueError(f"options={shown(asked)} of reset are not allowed: give them to make_sb3")
        observation = self.rows.reset(self._seeds[0])
        self._reset_seeds()
        self.reset_infos = self._infos()
        return self._flat(observation)

    def step_async(self, actions: Array) -> None:
        """Store the actions of a step, ``(R·M, …)``.

        Raises
        ------
        ValueError
            Another number of actions than sub-envs, or one outside its space.
        RuntimeError
            No episode has begun.
        """
        begun(self.rows.begun, "step")
        self._action = self.rows.read(actions)

    def step_wait(self) -> tuple[Array, Array, Array, list[Info]]:
        """Play the stored actions; each run whose episode ends starts the next episode."""
        rows, many = self.rows, self.rows.n_agents
        reward, over, solved = rows.step(self._action)
        observation, infos = rows.task.observe(), self._infos()
        if over.any():
            metrics, ended = rows.core.metrics(), np.flatnonzero(over)
            for r in ended:
                for m in range(many):
                    infos[r * many + m] |= {
                        "terminal_observation": observation[r, m].copy(),
                        "TimeLimit.truncated": self.truncates and not solved[r],
                        "metrics": of_run(metrics, int(r)),
                    }
            observation = rows.reset(rows=ended)
        paid = reward.astype(np.float32).reshape(-1)  # a learner adds to it in place
        return self._flat(observation), paid, np.repeat(over, many), infos

    def _flat(self, value: Array) -> Array:
        return value.reshape(self.num_envs, *value.shape[2:])

    def _infos(self) -> list[Info]:
        # one each, for wrappers write into them
        labels = self.rows.task.labels
        return [dict(labels) for _ in range(self.num_envs)]

    def close(self) -> None:
        """Do nothing, because no resource is open."""

    def get_images(self) -> Sequence[Array | None]:
        """Return a list with one picture, which shows the first run."""
        import hushbandits.adapters.render as render

        return [render.picture(self.rows.task, f"round {int(self.rows.core.t[0]):,}")]

    # -- sub-envs by name -----------------------------------------------------------------------------------------

    def action_masks(self) -> list[Array]:
        """Return a list of the action masks of all sub-envs, each ``(C,)`` bool."""
        return list(self._flat(self.rows.task.mask()))

    def get_attr(self, attr_name: str, indices: _Indices = None) -> list[object]:
        """Return a list of the attribute `attr_name`, one of `_READABLE`, for each of the sub-envs `indices`."""
        if attr_name not in _READABLE:
            raise AttributeError(f"a sub-env has no attribute {attr_name!r}; its attributes: {', '.join(_READABLE)}")
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: object, indices: _Indices = None) -> None:
        """Raise ``AttributeError``, because sub-envs are rows of one array."""
        raise AttributeError(
            f"{attr_name}={shown(value)} cannot be set, because sub-envs are rows of one array: make another env"
        )

    def env_method(self, method_name: str, *args: object, indices: _Indices = None, **kwargs: object) -> list[Array]:
        """Return the action masks of the sub-envs `indices`; raise ``AttributeError`` for any other method name."""
        if method_name != "action_masks":
            raise AttributeError(f"a sub-env has no method {method_name!r}; its only method: action_masks")
        masks = self.action_masks()
        return [masks[i] for i in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: _Indices = None) -> list[bool]:
        """Return ``False`` for every sub-env."""
        return [False for _ in self._get_indices(indices)]
