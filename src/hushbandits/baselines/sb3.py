"""A trained policy as an agent: played in NumPy, without PyTorch, also if Stable-Baselines3 trained it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from gymnasium.spaces import MultiBinary

from hushbandits.agents.lifting import TaskTeam, given_options
from hushbandits.baselines.learned import ACTIVATIONS, Learned, Network, heads_of, parts_of, read
from hushbandits.baselines.sb3_choices import SCALE, choices
from hushbandits.core import Array, Params, RLTask, Streams, World, extra, flag, shown, words
from hushbandits.core.random.names import TRAINED
from hushbandits.core.task import EARNED
from hushbandits.core.team import view_of

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from torch import Tensor


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
                raise ValueError(f"{self.name} takes one of {choices(task)} choices, but the actions here are {space}")
            if lacking := [name for name, *_ in policy.observation if name not in task.layout]:
                raise ValueError(f"{self.name} observes {lacking[0]}, but this env shows {', '.join(task.layout)}")
            return
        for known, here in zip_longest(policy.observation, parts_of(task)) if policy.observation else ():
            if known != here:
                parts = f"the observation part {known} (name, size, bounds), but this env has {here}"
                raise ValueError(f"{self.name} was trained with {parts}")
        if (reads, gives) != (wide, scores):
            raise ValueError(
                f"{self.name} reads {reads} numbers and gives {gives} scores, but this env shows {wide} numbers "
                f"({', '.join(task.layout)}) and needs {scores} scores ({space}); set task= as in training"
            )

    def begin(self, rng: Streams) -> None:
        """Start R new runs of the policy, which draw from `rng`."""
        self._player.reset(rng)

    def choose(self, task: RLTask, pull: bool, talk: bool) -> Array:
        return self._player.act(task, pull, talk)


# -- models of Stable-Baselines3 -------------------------------------------------------------------------------------

#: Policies whose networks are played here.
_PLAYED = ("ActorCriticPolicy", "MaskableActorCriticPolicy", "DQNPolicy", "Equivariant", "MaskableEquivariant")
_LIBRARIES = ("stable_baselines3", "sb3_contrib", "hushbandits")
#: Weights that decide what is done, and those that training alone needs.
_ACTS = re.compile(r"(mlp_extractor\.policy_net\.\d+|action_net|q_net\.q_net\.\d+)\.(weight|bias)")
_LEARNS = re.compile(r"mlp_extractor\.value_net\.|value_net\.|q_net_target\.|log_std$")


def _refused(what: str) -> ValueError:
    return ValueError(f"{what}; use hb.FromFunction with a function that calls the model")


def network(state: Mapping[str, Tensor]) -> dict[str, Array]:
    """Return the weights in a policy's ``state_dict`` under the names that `Learned` uses.

    ``ValueError``: the network is not one of the library's own.
    """
    found: dict[str, dict[str, Array]] = {}  # in the order of the layers, the head last
    for name, tensor in state.items():
        if acts := _ACTS.fullmatch(name):
            found.setdefault(acts[1], {})[acts[2]] = np.array(tensor.detach().cpu().numpy(), float)
        elif not _LEARNS.match(name):
            raise _refused(f"a network with the weights {name!r} is not supported")
    names = [*(f"layer{i}" for i in range(len(found) - 1)), "head"][-len(found) :]
    layers = zip(names, found.values(), strict=True)
    return {f"{name}.{part}": array for name, layer in layers for part, array in layer.items()}


def weights_of(model: BaseAlgorithm) -> tuple[dict[str, Array], str]:
    """Return a model's weights and the name of its activation, or raise ``ValueError`` for unsupported models."""
    its = model.policy
    cls, eyes, activation = type(its), its.features_extractor_class.__name__, its.activation_fn.__name__
    if cls.__name__ not in _PLAYED or cls.__module__.partition(".")[0] not in _LIBRARIES:
        raise _refused(f"a policy of class {cls.__module__}.{cls.__name__} is not supported")
    if eyes != "FlattenExtractor" or activation.lower() not in ACTIVATIONS:
        raise _refused(f"features extractor {eyes} with activation {activation} is not supported")
    weights = network(its.state_dict())
    if "Equivariant" in cls.__name__ and len(weights["head.bias"]) == 1:  # scores of a softmax
        weights |= {name: SCALE * weights[name] for name in ("head.weight", "head.bias")}
    return weights, activation.lower()


def of_model(given: BaseAlgorithm) -> Learned:
    """Return a `Learned` with a model's current weights.

    Of one that still has its env from `hb.make_sb3` it is known what it was shown, part by part; else how wide that is.
    A model that is not played here is refused (``ValueError``).
    """
    scaled = given.get_vec_normalize_env()
    if scaled is not None and scaled.norm_obs:
        raise _refused("a model with observations normalized by VecNormalize is not supported")
    weights, activation = weights_of(given)
    kind = type(given.policy).__name__
    policy = Learned(
        type(given).__name__, weights, activation, deterministic=kind == "DQNPolicy", masked="Maskable" in kind,
        by_choice="Equivariant" in kind,
    )  # fmt: skip
    rows = getattr(getattr(given.get_env(), "unwrapped", None), "rows", None)
    if policy.by_choice and rows is None:
        raise ValueError(f"a model with policy {kind} needs an env of hb.make_sb3: call model.set_env(venv)")
    if rows is None or (not policy.by_choice and rows.task.observation_space != given.observation_space):
        return policy
    spec = rows.core.spec
    env = {} if spec is None else {"type": getattr(spec[0], "__name__", spec[0]), **spec[1]}
    return replace(
        policy, setting=rows.core.setting, env=env,
        options={name: value for name, value in rows.options.items() if name not in EARNED},
        observation=parts_of(rows.task),
    )  # fmt: skip


def of_zip(path: Path, activation: str | None, masked: bool) -> Learned:
    """Return a `Learned` with the weights in the zip file `path` of a saved model; no code of the file is run.

    The library unpickles what else is in it, the spaces and the activation among them, so these are said by others.
    """
    with extra("sb3"):
        from stable_baselines3.common.save_util import load_from_zip_file

    try:
        with path.open("rb") as file:
            _, parameters, _ = load_from_zip_file(file, load_data=False, device="cpu")
        values = "q_net.q_net.0.weight" in parameters["policy"]
        made = activation or ("relu" if values else "tanh")
        return Learned(path.name, network(parameters["policy"]), made, deterministic=values, masked=masked)
    except Exception as error:  # damage takes many forms
        raise ValueError(f"the policy in {path} cannot be read: {words(error)}") from None
