"""Cooperation over a graph as a reinforcement-learning task."""

from hushbandits.envs.network.render import GraphPicture
from hushbandits.envs.rounds.task import ArmTask


class NetworkTask(GraphPicture, ArmTask):
    """An `ArmTask` with a picture of the graph.

    Examples
    --------
    >>> import hushbandits as hb
    >>> task = NetworkTask(hb.make_batched("CoopNetwork-v0", n_agents=4))
    >>> task.action_space, task.observation_space.shape
    (Discrete(10), (43,))
    """
