"""TorchRL's view: R runs at once as one batched ``EnvBase``; TorchRL is imported when the first one is made."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces

from hushbandits.core.actions import Space, Stacked, choices
from hushbandits.core.entries import AnyEnv, AnyWrapper
from hushbandits.core.env import Env
from hushbandits.core.ground.types import Array
from hushbandits.core.ground.validate import integer
from hushbandits.core.messages import Field
from hushbandits.views.learners import Rows, rows_of

if TYPE_CHECKING:
    import torch
    from tensordict import TensorDictBase
    from torchrl.data import Composite, TensorSpec
    from torchrl.envs import EnvBase

__all__ = ["make_torchrl"]


def make_torchrl(
    id: AnyEnv, runs: int = 1, *, wrappers: Sequence[AnyWrapper] = (),
    speech: Mapping[str, Field] | None = None, device: torch.device | str = "cpu", **kwargs: object,
) -> EnvBase:  # fmt: skip
    """Build a TorchRL env of R runs, which start their next episodes one by one.

    Its batch is [R].  All agents are one group, ``"agents"``: ``("agents", "observation")`` [R, M, D],
    ``("agents", "action")`` [R, M, …] (categories, never one-hot; of ``actions="native"`` it may have parts),
    ``("agents", "action_mask")`` [R, M, C], all discrete choices in a row, as the transform ``ActionMask`` wants it,
    and ``("agents", "reward")`` [R, M, 1].  ``done``, ``terminated`` and ``truncated`` are [R, 1]: an env decides
    (termination) or its horizon is over (truncation), where a learner must bootstrap.  A run that is done stays so
    until it is reset, and earns nothing.

    Parameters
    ----------
    runs : int
        R.
    device : torch.device or str
        Where tensors go; the env itself runs on the CPU.
    id, wrappers, speech, **kwargs
        As for `make`, which alone has ``beats``, ``max_cycles`` and ``info``.

    Returns
    -------
    torchrl.envs.EnvBase
        Its ``rows`` hold the core and the task; ``rows.metrics(i)`` are those of run i so far.  After ``set_seed(s)``,
        the next reset of all runs plays what ``make_core(id, R).reset(s)`` plays, run by run.

    Raises
    ------
    ImportError
        TorchRL is not installed.

    Examples
    --------
    >>> env = make_torchrl("CoopNetwork-v0", runs=8, n_agents=4, horizon=50)  # doctest: +SKIP
    >>> env.rollout(100, break_when_any_done=False)["next", "agents", "reward"].shape  # doctest: +SKIP
    torch.Size([8, 100, 4, 1])
    """
    rows = rows_of("make_torchrl", id, runs, wrappers, speech, kwargs)
    return _view()(rows, device)


@functools.cache
def _view() -> type[EnvBase]:
    try:
        from torchrl.envs import EnvBase
    except ImportError as error:
        raise ImportError(f"make_torchrl needs TorchRL ({error}): pip install 'hushbandits[torchrl]'") from error

    class TorchView(_TorchRows, EnvBase):  # type: ignore[misc,unused-ignore]
        """Runs of a task as TorchRL has envs."""

    return TorchView


class _TorchRows:
    """What a view does, without TorchRL's base."""

    device: torch.device
    batch_size: torch.Size
    #: TorchRL trusts that the shapes of a batch stay.
    batch_locked = True

    def __init__(self, rows: Rows, device: torch.device | str):
        super().__init__(device=device, batch_size=[rows.runs])  # type: ignore[call-arg]
        self.rows = rows
        self.group_map = {"agents": [f"agent_{m}" for m in range(rows.n_agents)]}
        self._seed: int | None = None
        self._begun = False
        self._solved = np.zeros(rows.runs, bool)
        self._make_specs()

    @property
    def core(self) -> Env:
        """The arrays behind it: what `hushbandits.privacy` is asked about."""
        return self.rows.core

    def _make_specs(self) -> None:
        import torch
        from torchrl.data import Binary, Composite, Unbounded

        task, lead = self.rows.task, (self.rows.runs, self.rows.n_agents)

        def group(**specs: TensorSpec) -> Composite:
            agents = Composite(**specs, shape=lead, device=self.device)
            return Composite(agents=agents, shape=lead[:1], device=self.device)

        self.action_spec = group(action=_spec(task.action_space, lead, self.device))
        mask = Binary(shape=(*lead, choices(task.action_space)), dtype=torch.bool, device=self.device)
        self.observation_spec = group(observation=_spec(task.observation_space, lead, self.device), action_mask=mask)
        self.reward_spec = group(reward=Unbounded(shape=(*lead, 1), device=self.device))
        flags = ("done", "terminated", "truncated")
        done = {name: Binary(shape=(*lead[:1], 1), dtype=torch.bool, device=self.device) for name in flags}
        self.done_spec = Composite(done, shape=lead[:1], device=self.device)

    # -- what TorchRL calls -----------------------------------------------------------------------------------

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: object) -> TensorDictBase:
        asked = None if tensordict is None else tensordict.get("_reset", None)
        rows = None if asked is None else np.flatnonzero(asked.reshape(-1).cpu().numpy())
        if rows is None or len(rows) == self.rows.runs or not self._begun:
            seen = self.rows.reset(self._seed)
            self._seed, self._begun = None, True
            self._solved[:] = False
        else:
            seen = self.rows.reset(rows=rows)
            self._solved[rows] = False
        return self._told(seen)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        waits = tensordict.get("_step", None)
        if waits is not None and (~waits.reshape(-1).cpu().numpy() & self.rows.task.obs.live).any():
            raise ValueError("_step: a run may only wait when it is done, all others step together")
        over = ~self.rows.task.obs.live
        turn = self.rows.step(self._read(tensordict["agents", "action"]))
        turn.observation[over] = self._seen[over]
        self._solved |= turn.solved
        told = self._told(turn.observation)
        told["agents", "reward"] = self._tensor(turn.reward[..., None].astype(np.float32))
        return told

    def _set_seed(self, seed: int | None) -> None:
        """Keep it for the next reset of all runs."""
        self._seed = None if seed is None else integer("seed", seed, 0, np.inf)

    # -- to and from tensors ------------------------------------------------------------------------------------

    def _told(self, seen: Array) -> TensorDictBase:
        from tensordict import TensorDict

        self._seen = seen.copy()
        task, lead = self.rows.task, (self.rows.runs, self.rows.n_agents)
        agents = {"observation": self._tensor(seen), "action_mask": self._tensor(task.mask())}
        done = ~task.obs.live
        flags = {"done": done, "terminated": done & self._solved, "truncated": done & ~self._solved}
        return TensorDict(
            {
                "agents": TensorDict(agents, lead, device=self.device),
                **{name: self._tensor(flag[:, None].copy()) for name, flag in flags.items()},
            },
            lead[:1],
            device=self.device,
        )

    def _tensor(self, value: Array) -> torch.Tensor:
        import torch

        return torch.as_tensor(value, device=self.device)

    def _read(self, action: torch.Tensor | TensorDictBase) -> Stacked:
        if isinstance(self.rows.task.action_space, spaces.Dict):
            return self.rows.read({name: _flat(part) for name, part in action.items()})
        return self.rows.read(_flat(action))


def _flat(action: torch.Tensor) -> Array:
    value: Array = action.detach().cpu().numpy()
    return value.reshape(-1, *value.shape[2:])


def _spec(space: Space, lead: tuple[int, int], device: torch.device) -> TensorSpec:
    """What TorchRL calls a space of each of R·M agents."""
    import torch
    from torchrl.data import Binary, Bounded, Categorical, Composite, MultiCategorical

    shape = (*lead, *(space.shape or ()))
    if isinstance(space, spaces.Discrete):
        return Categorical(int(space.n), shape=shape, device=device)
    if isinstance(space, spaces.MultiDiscrete):
        return MultiCategorical(torch.as_tensor(space.nvec, device=device), shape=shape, device=device)
    if isinstance(space, spaces.MultiBinary):
        return Binary(shape=shape, dtype=torch.int8, device=device)
    if isinstance(space, spaces.Dict):
        parts = {name: _spec(part, lead, device) for name, part in space.items()}
        return Composite(parts, shape=lead, device=device)
    assert isinstance(space, spaces.Box)
    low, high = (torch.as_tensor(bound, device=device).expand(shape) for bound in (space.low, space.high))
    return Bounded(low, high, shape=shape, dtype=low.dtype, device=device)
