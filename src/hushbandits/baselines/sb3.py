"""Agents that play a trained policy in NumPy, without PyTorch."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from gymnasium.spaces import MultiBinary

from hushbandits.agents.lifting import TaskTeam, given_options
from hushbandits.baselines.learned import Network, heads_of, parts_of, read
from hushbandits.baselines.sb3_choices import choices
from hushbandits.baselines.sb3_model import of_model, of_zip
from hushbandits.core import Array, EnvView, Params, RLTask, Streams, World, flag, shown
from hushbandits.core.random.names import TRAINED
from hushbandits.core.team import view_of

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm


class Trained(TaskTeam):
    """A team that plays a trained policy.

    All agents play one policy.  It sees what the learner saw (the env's task over what the wrappers let through), and
    an env that shows something else, or has other actions, is refused; other numbers of agents are welcome where the
    observation does not name them.  What evolution strategies trained plays with other numbers of arms as well.

    Parameters
    ----------
    source : str, Path or model
        A folder that ``hushbandits train`` has made, for which ``sb3:FOLDER`` stands wherever an agent's name may; a
        zip that ``save`` of Stable-Baselines3 has written (``sb3:my.zip``), which that library reads, and of which
        nothing is run; or one of its models in memory.
    deterministic : bool, optional
        Take the likeliest action instead of drawing one; default: as it was trained to be played (a DQN takes the
        best one, all others draw).
    two_phase : bool, optional
        False: the team chooses arms and message of a round at once.  True: it chooses the message after it has seen
        its own reward.  Default: as it was trained.  The metric ``two_phase`` reports it.
    task : mapping, optional
        Options of the task, as for `hb.make`, under which a zip or a model was trained: ``{"agent_id": True}``.  A
        folder knows them; so does a model that still has its env from `hb.make_sb3`.
    activation : str, optional
        Of a zip: ``"tanh"`` or ``"relu"``; default: what the library takes, ``"relu"`` for a DQN.
    masked : bool
        Of a zip: whether it takes only actions that count, as a MaskablePPO does.

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.make_team("sb3:nowhere")
    Traceback (most recent call last):
        ...
    ValueError: there is no policy in nowhere: No such file or directory
    """

    stream = TRAINED

    def __init__(
        self, source: str | Path | BaseAlgorithm, *, deterministic: bool | None = None, two_phase: bool | None = None,
        task: Params | None = None, activation: str | None = None, masked: bool = False,
    ):  # fmt: skip
        path = Path(source).expanduser() if isinstance(source, str | Path) else None
        if path is not None and (path.is_file() or path.suffix == ".zip"):
            self.policy = of_zip(path, activation, flag("masked", masked))
        elif activation is not None or masked:
            raise ValueError(f"activation={activation} and masked={masked} apply only to a zip file, not to {source}")
        else:
            self.policy = read(source) if isinstance(source, str | Path) else of_model(source)
        if task is not None and self.policy.card:
            raise ValueError(f"task={shown(task)} must be left out, because {source} contains the task options")
        self._options = {**self.policy.options, **given_options(task)}
        self._player = Network(self.policy, None if deterministic is None else flag("deterministic", deterministic))
        super().__init__(self.policy.two_phase if two_phase is None else two_phase)
        self.setting = self.policy.setting

    @property
    def name(self) -> str:
        where = self.policy.env.get("type")
        return f"{self.policy.algorithm} of {where}" if where else self.policy.algorithm

    def validate_env(self, env: World) -> None:
        task, policy = self.look(view_of(env)), self.policy
        space, wide = task.action_space, task.observation_space.shape[0]
        reads, gives = policy.layers[0][0].shape[1], len(policy.layers[-1][0])
        heads = heads_of(space)
        bits = isinstance(space, MultiBinary) and gives == len(heads)  # each of which has one score
        scores = len(heads) if bits else sum(heads)
        if policy.by_choice:
            if heads != (choices(task),):
                raise ValueError(
                    f"{self.name} takes one of {choices(task)} choices, but this env has the action space {space}"
                )
            if lacking := [name for name, *_ in policy.observation if name not in task.layout]:
                raise ValueError(f"{self.name} observes {lacking[0]}, but this env shows {', '.join(task.layout)}")
            return
        for known, here in zip_longest(policy.observation, parts_of(task)) if policy.observation else ():
            if known != here:
                raise ValueError(
                    f"{self.name} was trained with the observation part {known} (name, size, bounds), "
                    f"but this env has the part {here}"
                )
        if (reads, gives) != (wide, scores):
            raise ValueError(
                f"{self.name} reads {reads} numbers and gives {gives} scores, but this env shows {wide} numbers "
                f"({', '.join(task.layout)}) and needs {scores} scores ({space}); set task= as in training"
            )

    def look(self, its: EnvView) -> RLTask:
        try:
            return self.looking(its, self._options)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.name} cannot observe this env with the options of its training: {error}") from None

    def begin(self, rng: Streams) -> None:
        """Start R new runs of the policy, which draw from `rng`."""
        self._player.reset(rng)

    def choose(self, task: RLTask, pull: bool, talk: bool) -> Array:
        return self._player.act(task, pull, talk)
