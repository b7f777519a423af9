"""Play an env by the beats, with rewards that are told, and keep all that is said, told and heard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hushbandits.audits.told import Told
from hushbandits.core.env import Env
from hushbandits.core.face import Face
from hushbandits.core.ground.types import Action, Array, Message, Seeds
from hushbandits.core.messages import Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.payload import Payload
from hushbandits.core.team import Team
from hushbandits.core.world import World
from hushbandits.core.wrapper import Wrapper

__all__ = ["Around", "Blocks", "Mirror", "Round", "Tap", "rounds"]


class Tap(Wrapper):
    """Keeps what passes: messages, and what agents are about to be told of their own rewards."""

    #: What passed last.
    message: dict[str, Array]
    earned: Array

    def tell(self, reward: Array, env: World) -> Array:
        self.earned = np.array(reward)
        return reward

    def send(self, message: Payload, env: World) -> Payload:
        self.message = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in message.items()}
        return message


@dataclass(frozen=True)
class Round:
    """One round of all runs.

    Parameters
    ----------
    t : int
    action : array
    told : array or None
        What agents are told of their own rewards; ``None``: these are withheld.
    said : mapping or None
        What the team says; ``None``: the standard report.
    inbox : Inbox
    acting : (R, A) array
        Who acted.
    """

    t: int
    action: Action
    told: Array | None
    said: Message | None
    inbox: Inbox
    acting: Array


def rounds(env: Env, team: Team, seed: int | Seeds = 0, told: Sequence[Array] | None = None) -> Iterator[Round]:
    """Begin at once; play rounds until every run is over, or rewards are no longer told.

    Parameters
    ----------
    env, team : Env, Team
    seed : int or sequence of SeedSequences
    told : sequence of arrays, optional
        Each round's rewards, where the env's law is `Told`.
    """
    obs = env.reset(seed)
    team.reset(Face(env), env.seeds)
    return _rounds(env, team, obs, told)


def _rounds(env: Env, team: Team, obs: Obs, told: Sequence[Array] | None) -> Iterator[Round]:
    t = 0
    while obs.live.any() and (told is None or t < len(told)):
        if told is not None:
            assert isinstance(env.law, Told)
            env.law.now = told[t]
        who, action = np.array(obs.who), team.act(obs)
        action = tuple(map(np.array, action)) if isinstance(action, tuple) else np.array(action)
        obs = env.pull(action)
        reward = obs.reward
        said = team.speak(reward)  # type: ignore[arg-type]
        obs = env.talk(said)
        assert obs.inbox is not None
        team.hear(obs.inbox)
        yield Round(t, action, reward, said, obs.inbox, who)
        t += 1


class Around(Team):
    """Plays the arms in turn, whatever it earns; every agent begins with another one.

    Examples
    --------
    >>> Around().told
    ()
    """

    told = ()

    def reset(self, env: World, seeds: Seeds) -> None:
        self._t, self._k = -1, env.n_arms

    def act(self, obs: Obs) -> Array:
        self._t += 1
        return (self._t + np.arange(obs.who.shape[1]) + np.zeros(obs.who.shape, int)) % self._k


class Blocks(Team):
    """Plays blocks at every server.

    Parameters
    ----------
    blocks : sequence of (int, int)
        Arm and number of users of each block, in their order.
    """

    told = ()

    def __init__(self, blocks: Sequence[tuple[int, int]]) -> None:
        super().__init__()
        self._blocks = blocks

    def reset(self, env: World, seeds: Seeds) -> None:
        self._left = iter(self._blocks)

    def act(self, obs: Obs) -> tuple[Array, Array]:
        arm, n = next(self._left)
        return np.full(obs.who.shape, arm), np.full(obs.who.shape, n)


class Mirror(Team):
    """Shows by its arms whatever it is told of its own rewards: who promises a run must bear such an agent.

    Its next arm is 1 where the last own reward, or the mean over all that it was told instead, is above ½.
    """

    told = ()

    def reset(self, env: World, seeds: Seeds) -> None:
        """Begin with arm 0."""
        self._arm = np.zeros((len(seeds), env.n_agents), int)

    def act(self, obs: Obs) -> Array:
        """The arm that tells."""
        return self._arm

    def speak(self, reward: Array | None) -> None:
        """Remember the own reward; send the standard report."""
        if reward is not None:
            self._arm = (reward > 0.5).astype(int)

    def hear(self, inbox: Inbox) -> None:
        """Remember what is told in its place."""
        if "mean" in inbox.own:
            arm = self._arm
            last = np.take_along_axis(np.asarray(inbox.own["mean"]), arm[..., None], 2)[..., 0]
            self._arm = (last > 0.5).astype(int)
