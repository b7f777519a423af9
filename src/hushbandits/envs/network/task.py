"""Cooperation over a delayed graph as a learner meets it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushbandits.envs.rounds.task import ArmTask

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class NetworkTask(ArmTask):
    """As `ArmTask`, with the graph in its picture.

    Examples
    --------
    >>> import hushbandits as hb
    >>> task = NetworkTask(hb.make_core("CoopNetwork-v0", n_agents=4))
    >>> task.action_space, task.observation_space.shape
    (Discrete(10), (43,))
    """

    def say(self) -> list[str]:
        from hushbandits.envs.network import picture  # a run without pictures does not read it

        return picture.say(self)

    def draw(self, figure: Figure) -> None:
        from hushbandits.envs.network import picture

        picture.draw(self, figure)
