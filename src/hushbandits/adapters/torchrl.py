"""The TorchRL view: R runs of an array core as a batched ``EnvBase``."""

import numpy as np
from gymnasium import spaces

try:
    import torch
    from tensordict import TensorDict, TensorDictBase
    from torchrl.data import Binary, Bounded, Categorical, Composite, MultiCategorical, TensorSpec, Unbounded
    from torchrl.envs import EnvBase
except ImportError as error:
    raise ImportError(f"make_torchrl needs TorchRL ({error}): pip install 'hushbandits[torchrl]'") from error

from hushbandits.adapters.learners import Rows
from hushbandits.core import Array, Env, Space, Stacked, choices, integer


class TorchRows(EnvBase):
    """A batched TorchRL env of R runs; all agents form one group, ``"agents"``.

    Parameters
    ----------
    rows : Rows
    device : torch.device or str
        Where tensors go.
    """

    #: TorchRL trusts that the shapes of a batch stay.
    batch_locked = True

    def __init__(self, rows: Rows, device: torch.device | str = "cpu"):
        super().__init__(device=device, batch_size=[rows.runs])
        self.rows = rows
        self.core: Env = rows.core  # which `hushbandits.privacy_report` reads
        self.group_map = {"agents": [f"agent_{m}" for m in range(rows.n_agents)]}
        self._seed: int | None = None
        self._solved = np.zeros(rows.runs, bool)
        task, lead = rows.task, (rows.runs, rows.n_agents)
        mask = Binary(shape=(*lead, choices(task.action_space)), dtype=torch.bool, device=self.device)
        self.action_spec = self._group(action=_spec(task.action_space, lead, self.device))
        seen = _spec(task.observation_space, lead, self.device)
        self.observation_spec = self._group(observation=seen, action_mask=mask)
        self.reward_spec = self._group(reward=Unbounded(shape=(*lead, 1), device=self.device))
        flag = Binary(shape=(*lead[:1], 1), dtype=torch.bool, device=self.device)
        done = {name: flag.clone() for name in ("done", "terminated", "truncated")}
        self.done_spec = Composite(done, shape=lead[:1], device=self.device)

    def _group(self, **specs: TensorSpec) -> Composite:
        agents = Composite(**specs, shape=(self.rows.runs, self.rows.n_agents), device=self.device)
        return Composite(agents=agents, shape=self.batch_size, device=self.device)

    # -- what TorchRL calls -----------------------------------------------------------------------------------

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: object) -> TensorDictBase:
        asked = None if tensordict is None else tensordict.get("_reset", None)
        rows = None if asked is None else np.flatnonzero(asked.reshape(-1).cpu().numpy())
        if rows is None or len(rows) == self.rows.runs or not self.rows.begun:
            seen = self.rows.reset(self._seed)
            self._seed = None
            self._solved[:] = False
        else:
            seen = self.rows.reset(rows=rows)
            self._solved[rows] = False
        return self._as_tensors(seen)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        waits = tensordict.get("_step", None)
        if waits is not None and (~waits.reshape(-1).cpu().numpy() & self.rows.task.obs.running).any():
            raise ValueError("_step must be True for every run that is not done")
        over = ~self.rows.task.obs.running
        reward, _, solved = self.rows.step(self._read(tensordict["agents", "action"]))
        seen = self.rows.task.observe()
        seen[over] = self._seen[over]
        self._solved |= solved
        facts = self._as_tensors(seen)
        facts["agents", "reward"] = self._tensor(reward[..., None].astype(np.float32))
        return facts

    def _set_seed(self, seed: int | None) -> None:
        """Store the seed for the next reset of all runs."""
        self._seed = None if seed is None else integer("seed", seed, 0, np.inf)

    # -- to and from tensors ------------------------------------------------------------------------------------

    def _as_tensors(self, seen: Array) -> TensorDictBase:
        self._seen = seen.copy()
        task, lead = self.rows.task, (self.rows.runs, self.rows.n_agents)
        agents = {"observation": self._tensor(seen), "action_mask": self._tensor(task.mask())}
        done = ~task.obs.running
        flags = {"done": done, "terminated": done & self._solved, "truncated": done & ~self._solved}
        facts = {name: self._tensor(flag[:, None].copy()) for name, flag in flags.items()}
        facts["agents"] = TensorDict(agents, lead, device=self.device)
        return TensorDict(facts, lead[:1], device=self.device)

    def _tensor(self, value: Array) -> torch.Tensor:
        return torch.as_tensor(value, device=self.device)

    def _read(self, action: torch.Tensor | TensorDictBase) -> Stacked:
        if isinstance(self.rows.task.action_space, spaces.Dict):
            return self.rows.read({name: _flat(part) for name, part in action.items()})
        return self.rows.read(_flat(action))


def _flat(action: torch.Tensor) -> Array:
    value: Array = action.detach().cpu().numpy()
    return value.reshape(-1, *value.shape[2:])


def _spec(space: Space, lead: tuple[int, int], device: torch.device) -> TensorSpec:
    """Return the TorchRL spec of `space` for R·M agents, with leading shape `lead` (R, M)."""
    shape = (*lead, *(space.shape or ()))
    if isinstance(space, spaces.Discrete):
        return Categorical(int(space.n), shape=shape, device=device)
    if isinstance(space, spaces.MultiDiscrete):
        return MultiCategorical(torch.as_tensor(space.nvec, device=device), shape=shape, device=device)
    if isinstance(space, spaces.MultiBinary):
        return Binary(shape=shape, dtype=torch.int8, device=device)
    if isinstance(space, spaces.Dict):
        return Composite({name: _spec(part, lead, device) for name, part in space.items()}, shape=lead, device=device)
    assert isinstance(space, spaces.Box)
    low, high = (torch.as_tensor(bound, device=device).expand(shape) for bound in (space.low, space.high))
    return Bounded(low, high, shape=shape, dtype=low.dtype, device=device)
