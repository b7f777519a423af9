# Made by `python -m benchmarks typed`: a keyword that no built-in env of the setting has is an error where it is typed.
# mypy: disable-error-code="overload-overlap"
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack, overload

import torch
from gymnasium.vector import AutoresetMode
from pettingzoo import AECEnv

from hushbandits.adapters.make import wrap as wrap
from hushbandits.adapters.parallel import ParallelView
from hushbandits.adapters.sb3 import RowsVecEnv
from hushbandits.adapters.torchrl import TorchRows
from hushbandits.adapters.vector import VectorView
from hushbandits.core import Field
from hushbandits.registry import AnyEnv, AnyWrapper

class UnknownKeyword:
    """What a maker returns, for type checkers, if a keyword is none of the setting's."""

class Task(TypedDict, total=False):
    action_format: str | None
    agent_id: bool | None
    squash_unbounded: bool | None
    observe_messages: bool | None
    cost_coefficients: Mapping[str, float] | None
    reward_source: str | None

ExplorationId = Literal[
    "DPMASE-v0",
    "CorruptedElimination-v0",
    "DecentralizedExploration-v0",
    "DPMASE-Train-v0",
    "DPMASE-Train-Wide-v0",
    "DPMASE-Train-Uneven-v0",
]

class Exploration(Task, total=False):
    agent_distribution: Any
    allow_vote_resets: Any
    beta: Any
    delta: Any
    drift: Any
    eta: Any
    fields: Any
    horizon: Any
    inactive_agents: Any
    means: Any
    n_agents: Any
    n_arms: Any
    n_change_points: Any
    one_arm_per_step: Any
    permute_arms: Any
    problem: Any
    require_confidence: Any
    rewards: Any
    round_cost: Any
    termination: Any
    termination_by: Any
    threshold: Any
    tolerance: Any
    vote_cost: Any
    vote_rule: Any
    xi: Any

FeedbackId = Literal[
    "CentralDP-v0",
    "DistDP-v0",
    "DistRDP-v0",
    "DistCDP-v0",
    "LocalDP-v0",
    "LTR-v0",
    "ShuffleDP-v0",
    "DistDP-Train-v0",
    "DistDP-Train-Lossy-v0",
    "DistDP-Train-Tight-v0",
]

class Feedback(Task, total=False):
    batch_window: Any
    bound: Any
    calibrate: Any
    cluster_seed: Any
    confidence: Any
    delta: Any
    discrete: Any
    dropouts: Any
    epsilon: Any
    fields: Any
    honest: Any
    horizon: Any
    insecure_seed: Any
    malicious: Any
    means: Any
    min_cohort: Any
    min_participants: Any
    n_agents: Any
    n_arms: Any
    n_change_points: Any
    n_mixes: Any
    neighbours: Any
    noise: Any
    path: Any
    permute_arms: Any
    protocol: Any
    quantization_levels: Any
    rate: Any
    rewards: Any
    scale: Any
    security: Any
    shuffle: Any
    simulate_users: Any
    threshold: Any

LinearId = Literal[
    "LinearBandit-v0",
    "FedLinear-v0",
    "FedLinear-All-v0",
    "PrivateFedLinear-v0",
    "ShuffleFedLinear-v0",
    "FedLinear-Train-v0",
]

class Linear(Task, total=False):
    activity: Any
    batch: Any
    budget: Any
    contexts: Any
    delta: Any
    down_delay: Any
    epsilon: Any
    fields: Any
    graph: Any
    growth: Any
    horizon: Any
    max_hops: Any
    n_agents: Any
    n_arms: Any
    n_features: Any
    nodes: Any
    own_feedback: Any
    rewards: Any
    ridge: Any
    server: Any
    sigma: Any
    up_delay: Any

NetworkId = Literal[
    "CoopNetwork-v0",
    "HeavyTailedNetwork-v0",
    "DuelingNetwork-v0",
    "FederatedNetwork-v0",
    "LocalDPNetwork-v0",
    "PrivateNetwork-v0",
    "ByzantineNetwork-v0",
    "CoopNetwork-Train-v0",
    "PricedNetwork-v0",
    "PricedNetwork-Train-v0",
    "CoopNetwork-Train-Grid-v0",
    "CoopNetwork-Train-Lossy-v0",
]

class Network(Task, total=False):
    delta: Any
    drift: Any
    edge_failure_prob: Any
    edge_probability: Any
    epsilon: Any
    factors: Any
    fields: Any
    fraction: Any
    graph: Any
    hop_delay: Any
    horizon: Any
    law: Any
    location: Any
    margin: Any
    max_hops: Any
    means: Any
    mechanism: Any
    message_rounds: Any
    n_agents: Any
    n_arms: Any
    n_change_points: Any
    own_feedback: Any
    permute_arms: Any
    preferences: Any
    rate: Any
    relays: Any
    release_exponent: Any
    rewards: Any
    root: Any
    routing: Any
    spread: Any

@overload
def make(
    id: ExplorationId,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    two_phase: bool = ...,
    render_mode: str | None = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    max_cycles: int | None = ...,
    metrics_in_info: bool = ...,
    **kwargs: Unpack[Exploration],
) -> ParallelView: ...
@overload
def make(
    id: FeedbackId,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    two_phase: bool = ...,
    render_mode: str | None = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    max_cycles: int | None = ...,
    metrics_in_info: bool = ...,
    **kwargs: Unpack[Feedback],
) -> ParallelView: ...
@overload
def make(
    id: LinearId,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    two_phase: bool = ...,
    render_mode: str | None = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    max_cycles: int | None = ...,
    metrics_in_info: bool = ...,
    **kwargs: Unpack[Linear],
) -> ParallelView: ...
@overload
def make(
    id: NetworkId,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    two_phase: bool = ...,
    render_mode: str | None = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    max_cycles: int | None = ...,
    metrics_in_info: bool = ...,
    **kwargs: Unpack[Network],
) -> ParallelView: ...
@overload
def make(id: ExplorationId | FeedbackId | LinearId | NetworkId, *args: Any, **kwargs: Any) -> UnknownKeyword: ...
@overload
def make(
    id: AnyEnv,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    two_phase: bool = ...,
    render_mode: str | None = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    max_cycles: int | None = ...,
    metrics_in_info: bool = ...,
    **kwargs: Any,
) -> ParallelView: ...
@overload
def make_aec(
    id: ExplorationId,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    two_phase: bool = ...,
    render_mode: str | None = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    max_cycles: int | None = ...,
    metrics_in_info: bool = ...,
    **kwargs: Unpack[Exploration],
) -> AECEnv: ...
@overload
def make_aec(
    id: FeedbackId,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    two_phase: bool = ...,
    render_mode: str | None = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    max_cycles: int | None = ...,
    metrics_in_info: bool = ...,
    **kwargs: Unpack[Feedback],
) -> AECEnv: ...
@overload
def make_aec(
    id: LinearId,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    two_phase: bool = ...,
    render_mode: str | None = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    max_cycles: int | None = ...,
    metrics_in_info: bool = ...,
    **kwargs: Unpack[Linear],
) -> AECEnv: ...
@overload
def make_aec(
    id: NetworkId,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    two_phase: bool = ...,
    render_mode: str | None = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    max_cycles: int | None = ...,
    metrics_in_info: bool = ...,
    **kwargs: Unpack[Network],
) -> AECEnv: ...
@overload
def make_aec(id: ExplorationId | FeedbackId | LinearId | NetworkId, *args: Any, **kwargs: Any) -> UnknownKeyword: ...
@overload
def make_aec(
    id: AnyEnv,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    two_phase: bool = ...,
    render_mode: str | None = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    max_cycles: int | None = ...,
    metrics_in_info: bool = ...,
    **kwargs: Any,
) -> AECEnv: ...
@overload
def make_vec(
    id: ExplorationId,
    runs: int = ...,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    autoreset: str | AutoresetMode = ...,
    render_mode: str | None = ...,
    **kwargs: Unpack[Exploration],
) -> VectorView: ...
@overload
def make_vec(
    id: FeedbackId,
    runs: int = ...,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    autoreset: str | AutoresetMode = ...,
    render_mode: str | None = ...,
    **kwargs: Unpack[Feedback],
) -> VectorView: ...
@overload
def make_vec(
    id: LinearId,
    runs: int = ...,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    autoreset: str | AutoresetMode = ...,
    render_mode: str | None = ...,
    **kwargs: Unpack[Linear],
) -> VectorView: ...
@overload
def make_vec(
    id: NetworkId,
    runs: int = ...,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    autoreset: str | AutoresetMode = ...,
    render_mode: str | None = ...,
    **kwargs: Unpack[Network],
) -> VectorView: ...
@overload
def make_vec(id: ExplorationId | FeedbackId | LinearId | NetworkId, *args: Any, **kwargs: Any) -> UnknownKeyword: ...
@overload
def make_vec(
    id: AnyEnv,
    runs: int = ...,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    autoreset: str | AutoresetMode = ...,
    render_mode: str | None = ...,
    **kwargs: Any,
) -> VectorView: ...
@overload
def make_sb3(
    id: ExplorationId,
    runs: int = ...,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    render_mode: str | None = ...,
    **kwargs: Unpack[Exploration],
) -> RowsVecEnv: ...
@overload
def make_sb3(
    id: FeedbackId,
    runs: int = ...,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    render_mode: str | None = ...,
    **kwargs: Unpack[Feedback],
) -> RowsVecEnv: ...
@overload
def make_sb3(
    id: LinearId,
    runs: int = ...,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    render_mode: str | None = ...,
    **kwargs: Unpack[Linear],
) -> RowsVecEnv: ...
@overload
def make_sb3(
    id: NetworkId,
    runs: int = ...,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    render_mode: str | None = ...,
    **kwargs: Unpack[Network],
) -> RowsVecEnv: ...
@overload
def make_sb3(id: ExplorationId | FeedbackId | LinearId | NetworkId, *args: Any, **kwargs: Any) -> UnknownKeyword: ...
@overload
def make_sb3(
    id: AnyEnv,
    runs: int = ...,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    render_mode: str | None = ...,
    **kwargs: Any,
) -> RowsVecEnv: ...
@overload
def make_torchrl(
    id: ExplorationId,
    runs: int = ...,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    device: torch.device | str = ...,
    **kwargs: Unpack[Exploration],
) -> TorchRows: ...
@overload
def make_torchrl(
    id: FeedbackId,
    runs: int = ...,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    device: torch.device | str = ...,
    **kwargs: Unpack[Feedback],
) -> TorchRows: ...
@overload
def make_torchrl(
    id: LinearId,
    runs: int = ...,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    device: torch.device | str = ...,
    **kwargs: Unpack[Linear],
) -> TorchRows: ...
@overload
def make_torchrl(
    id: NetworkId,
    runs: int = ...,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    device: torch.device | str = ...,
    **kwargs: Unpack[Network],
) -> TorchRows: ...
@overload
def make_torchrl(
    id: ExplorationId | FeedbackId | LinearId | NetworkId, *args: Any, **kwargs: Any
) -> UnknownKeyword: ...
@overload
def make_torchrl(
    id: AnyEnv,
    runs: int = ...,
    *,
    wrappers: Sequence[AnyWrapper] = ...,
    extra_fields: Mapping[str, Field] | None = ...,
    device: torch.device | str = ...,
    **kwargs: Any,
) -> TorchRows: ...
