"""One learner alone: a network of one as an ordinary Gymnasium env, ``hushbandits/Bandit-v0``."""

from __future__ import annotations

import gymnasium
from gymnasium.vector import AutoresetMode

from hushbandits.core.actions import read, sample_mask
from hushbandits.core.env import Env
from hushbandits.core.ground.types import Array, Params
from hushbandits.core.ground.validate import shown
from hushbandits.views.learners import Info, Rows, checked_mode, learners_core, task_options
from hushbandits.views.vector import VectorView, make_vec

__all__ = ["BanditEnv", "make_bandits"]

_ID = "CoopNetwork-v0"
#: What only several agents have.
_SEVERAL = ("n_agents", "runs", "wrappers", "speech")


def _alone(kwargs: Params) -> Info:
    if several := [name for name in _SEVERAL if name in kwargs]:
        raise ValueError(f"{several[0]}={shown(kwargs[several[0]])}: a Bandit has one agent, who talks to nobody")
    return {**kwargs, "n_agents": 1}


class BanditEnv(gymnasium.Env[Array, object]):
    """One agent, K arms, T rounds: ``gymnasium.make("hushbandits/Bandit-v0")``.

    It is a network of one: the same core and the same `Task`, whose ``heard_`` parts stay empty.  The horizon
    truncates; the last info has the run's ``metrics``, every info an ``action_mask`` in the form that
    ``action_space.sample`` takes.

    Parameters
    ----------
    render_mode : str, optional
        ``"ansi"`` or ``"rgb_array"``.
    **kwargs
        ``n_arms``, ``means``, ``rewards``, ``horizon``, ``permute_arms``, ``drift`` and ``switches`` of
        `CoopNetwork`, and the task's ``actions`` and ``normalize``.  Arms are shuffled in every episode unless
        ``permute_arms=False``.

    Examples
    --------
    >>> import hushbandits
    >>> env = gymnasium.make("hushbandits/Bandit-v0", means=[0.2, 0.8], horizon=100)
    >>> observation, info = env.reset(seed=0)
    >>> env.action_space, observation.shape
    (Discrete(2), (11,))
    """

    metadata: Info = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, *, render_mode: str | None = None, **kwargs: object):
        self.render_mode = checked_mode(render_mode, self.metadata["render_modes"])
        options, params = task_options(_ID, _alone(kwargs))
        self._rows = Rows(learners_core(_ID, 1, (), None, params), **options)
        self.core: Env = self._rows.core
        self.task = self._rows.task
        self.layout = self.task.layout
        self.observation_space = self.task.observation_space
        self.action_space = self.task.action_space
        self._open = False

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Array, Info]:
        """Start an episode; without a seed, the next one of the stream that a seed began."""
        if options:
            raise ValueError(f"options={shown(options)} of reset: this env has none; give parameters to make")
        observation = self._rows.reset(seed)
        super().reset(seed=None if seed is None else int(seed))
        self._open = True
        return observation[0, 0], self._info()

    def step(self, action: object) -> tuple[Array, float, bool, bool, Info]:
        """Pull an arm."""
        if not self._open:
            raise RuntimeError("step before the start or after the end of an episode: call reset() first")
        turn = self._rows.step(read(self.action_space, [action], ["the agent"], (1, 1)))
        over = bool(turn.over[0])
        self._open = not over
        info = {"metrics": self._rows.metrics(0)} if over else self._info()
        return turn.observation[0, 0], float(turn.reward[0, 0]), False, over, info

    def _info(self) -> Info:
        return {"action_mask": sample_mask(self.action_space, self.task.mask()[0, 0])}

    def render(self) -> str | Array:
        """Return a text or an ``(H, W, 3)`` picture."""
        import hushbandits.views.render as render

        if self.render_mode is None:
            raise RuntimeError(f"render needs make(…, render_mode=), one of {self.metadata['render_modes']}")
        title = f"Bandit-v0 · rounds {int(self.core.t[0]):,} of {self.core.horizon:,}"
        title += f" · regret {self._rows.metrics(0)['regret']:,.0f}"
        return render.frame(self.task, title, self.render_mode)


def make_bandits(
    num_envs: int = 1,
    *,
    autoreset: str | AutoresetMode = "same-step",
    render_mode: str | None = None,
    **kwargs: object,
) -> VectorView:
    """Build many bandits at once: ``gymnasium.make_vec("hushbandits/Bandit-v0", num_envs=…)``."""
    return make_vec(_ID, num_envs, autoreset=autoreset, render_mode=render_mode, **_alone(kwargs))
