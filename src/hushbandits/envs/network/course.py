"""What compiled rounds read and write of a network, and which wrappers they know."""

from __future__ import annotations

from typing import Any

from hushbandits.core import Array, Observation, World, Wrapper, locked


def by_luck(wrapper: Wrapper, only_drops: bool) -> bool:
    """Whether what it does to a report is to drop it, or to replace its reward, whatever the report says."""
    cls = type(wrapper)
    if wrapper.drop_prob is not None:
        return cls.tell is Wrapper.tell and cls.deliver is Wrapper.deliver
    ours = all(map(wrapper.ships, ("send", "deliver", "tell")))
    return not only_drops and wrapper.verbs == ("replace",) and ours


def posts_states(env: World) -> bool:
    """Whether one wrapper alone makes states of the reports, by a compiled rule, and their sums are exact."""
    if len(env.wrappers) != 1 or not env.law.unit_interval:
        return False
    wrapper = env.wrappers[0]
    return wrapper.poster is not None and all(map(wrapper.ships, ("reset", "send", "deliver", "tell", "told")))


class Course:
    """What compiled rounds read and write of a network: its random stream, its ring, its sums and its clock.

    They write to the arrays, and then say by `went` how far they have come.

    Parameters
    ----------
    env : CoopNetwork
        Between two rounds.
    fields : tuple of str
        What is posted.
    poster : Wrapper, optional
        What makes it of the standard reports.

    Attributes
    ----------
    luck : Uniforms
        The rewards' stream.
    ring, slots : Ring, Slots
        Posts, and the ways that they take.
    regret : (R, M) array
        Of each agent, so far.
    messages : (R,) int
        Transmissions so far.
    edges : (G, M) int
        Transmissions of one post.
    """

    def __init__(self, env: Any, fields: tuple[str, ...], poster: Wrapper | None):
        self._env, self.fields, self.poster = env, fields, poster
        self.luck, self.ring, self.slots = env._luck, env._ring, env.slots
        self.regret, self.messages, self.edges = env._regret, env._messages, env._edges

    @property
    def t(self) -> int:
        """Rounds so far."""
        return int(self._env._t[0])

    def obs(self) -> Observation:
        """What agents see before the next round."""
        return self._env._seen()

    def leave(self) -> None:
        """Rounds begin: until they are over, the env is in no state to go on from."""
        self._env._phase = "broken"

    def pull(self, arms: Array) -> Array:
        """Return what arms pay, by whatever law."""
        reward: Array = self._env._pull(arms)
        self._env.own_reward = reward
        return reward

    def went(self, rounds: int, arms: Array | None = None, rewards: Array | None = None) -> None:
        """So many rounds are over, and these were the last one's arms and rewards (of `pull`, it knows)."""
        env = self._env
        if arms is not None and rewards is not None:
            env._arm, env._reward = arms.copy(), locked(rewards)
            env.own_reward = env._reward
        env._ring.t += rounds
        env._t = env._t + rounds
        env._live = env._t < env.horizon
        env._phase = "pull" if env._live.any() else "over"
