"""The interface between a network and its compiled rounds, and checks for known wrappers."""

from __future__ import annotations

from typing import Any

from hushbandits.core import Array, Observation, World, Wrapper, locked


def by_uniforms(wrapper: Wrapper, only_drops: bool) -> bool:
    """Return whether a wrapper only drops reports or replaces their rewards, whatever their content."""
    cls = type(wrapper)
    if wrapper.drop_prob is not None:
        return cls.alter_own_reward is Wrapper.alter_own_reward and cls.deliver is Wrapper.deliver
    ours = all(map(wrapper.ships, ("send", "deliver", "alter_own_reward")))
    return not only_drops and wrapper.operations == ("replace",) and ours


def posts_states(env: World) -> bool:
    """Return whether exactly one wrapper turns reports into states, by a compiled rule with exact sums."""
    if len(env.wrappers) != 1 or not env.law.unit_interval:
        return False
    wrapper = env.wrappers[0]
    return wrapper.poster is not None and all(
        map(wrapper.ships, ("reset", "send", "deliver", "alter_own_reward", "published"))
    )


class Course:
    """The state of a network that compiled rounds read and write: random stream, ring, sums and round number.

    Compiled rounds write to the arrays and then call `went` with the number of rounds played.

    Parameters
    ----------
    env : CoopNetwork
        Between two rounds.
    fields : tuple of str
        The fields of a post.
    poster : Wrapper, optional
        The wrapper that turns default messages into posts.

    Attributes
    ----------
    uniforms : Uniforms
        The random stream of the rewards.
    ring, slots : Ring, Slots
        Posts, and the slots in which they arrive.
    regret : (R, M) array
        Regret of each agent so far.
    messages : (R,) int
        Transmissions so far.
    edges : (G, M) int
        Transmissions of one post.
    """

    def __init__(self, env: Any, fields: tuple[str, ...], poster: Wrapper | None):
        self._env, self.fields, self.poster = env, fields, poster
        self.uniforms, self.ring, self.slots = env._uniforms, env._ring, env.slots
        self.regret, self.messages, self.edges = env._regret, env._messages, env._edges

    @property
    def t(self) -> int:
        """The number of rounds so far."""
        return int(self._env._t[0])

    def obs(self) -> Observation:
        """The agents' observation before the next round."""
        return self._env._seen()

    def leave(self) -> None:
        """Mark the env as inconsistent until the rounds are over."""
        self._env._phase = "broken"

    def pull(self, arms: Array) -> Array:
        """Return the rewards of arms, for any law."""
        reward: Array = self._env._pull(arms)
        self._env.own_reward = reward
        return reward

    def went(self, rounds: int, arms: Array | None = None, rewards: Array | None = None) -> None:
        """Record that `rounds` rounds are over, with the last one's arms and rewards (known after `pull`)."""
        env = self._env
        if arms is not None and rewards is not None:
            env._arm, env._reward = arms.copy(), locked(rewards)
            env.own_reward = env._reward
        env._ring.t += rounds
        env._t = env._t + rounds
        env._live = env._t < env.horizon
        env._phase = "pull" if env._live.any() else "over"
