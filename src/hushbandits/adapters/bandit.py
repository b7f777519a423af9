"""The single-agent Gymnasium env ``hushbandits/Bandit-v0``: a cooperative network with one agent."""

import gymnasium
from gymnasium.vector import AutoresetMode

from hushbandits.adapters.learners import Info
from hushbandits.adapters.make import make, make_vec
from hushbandits.adapters.vector import VectorView
from hushbandits.core import Array, Params

_ID, _AGENT = "CoopNetwork-v0", "agent_0"
#: What only several agents have.
_SEVERAL = ("n_agents", "runs", "wrappers", "extra_fields")


def _alone(kwargs: Params) -> Info:
    if several := [name for name in _SEVERAL if name in kwargs]:
        raise ValueError(f"{several[0]}= must be left out: a Bandit has one agent, which sends no messages")
    return {**kwargs, "n_agents": 1}


class BanditEnv(gymnasium.Env[Array, object]):
    """The Gymnasium env ``hushbandits/Bandit-v0``, with one agent, K arms and T rounds.

    It is a network of one as `make` builds it, whose ``heard_`` parts stay empty.  The horizon truncates; the last
    info has the run's ``metrics``, all others an ``action_mask`` in the form that ``action_space.sample`` takes.

    Parameters
    ----------
    render_mode : str, optional
        ``"ansi"`` or ``"rgb_array"``.
    **kwargs
        ``n_arms``, ``means``, ``rewards``, ``horizon``, ``permute_arms``, ``drift`` and ``n_change_points`` of
        `CoopNetwork`, and the task's ``action_format`` and ``squash_unbounded``.  Arms are shuffled in every episode
        unless ``permute_arms=False``.

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
        self._view = make(_ID, render_mode=render_mode, **_alone(kwargs))
        self.render_mode, self.core, self.layout = render_mode, self._view.core, self._view.layout
        self.observation_space = self._view.observation_space(_AGENT)
        self.action_space = self._view.action_space(_AGENT)

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Array, Info]:
        """Start the first episode under `seed`, or without a seed the next episode; return observation and info."""
        observations, infos = self._view.reset(seed, options)
        super().reset(seed=None if seed is None else int(seed))
        return observations[_AGENT], infos[_AGENT]

    def step(self, action: object) -> tuple[Array, float, bool, bool, Info]:
        """Pull the arm of `action`; return observation, reward, terminated, truncated and info."""
        seen, paid, ends, cuts, infos = self._view.step({_AGENT: action})
        return seen[_AGENT], paid[_AGENT], ends[_AGENT], cuts[_AGENT], infos[_AGENT]

    def render(self) -> str | Array | None:
        """Return the env as text (``ansi``) or as an ``(H, W, 3)`` uint8 picture (``rgb_array``)."""
        return self._view.render()


def make_bandits(
    num_envs: int = 1, *, autoreset: str | AutoresetMode = "same-step", render_mode: str | None = None, **kwargs: object
) -> VectorView:
    """Build a Gymnasium vector env of `num_envs` single-agent bandits, ``hushbandits/Bandit-v0``."""
    return make_vec(_ID, num_envs, autoreset=autoreset, render_mode=render_mode, **_alone(kwargs))
