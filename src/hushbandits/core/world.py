"""What wrappers, teams and promises may count on in the env that they meet: an env, or the face of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hushbandits.core.luck.rewards import Law
    from hushbandits.core.messages import Fields

__all__ = ["World"]


class World:
    """Base of `Env` and `Face`: sizes, time, and what messages hold.  It declares, and defines nothing."""

    if TYPE_CHECKING:
        n_agents: int  # M
        n_arms: int  # K
        runs: int  # R
        law: Law  # family of the reward laws
        fields: Fields  # what a team sends
        inbox_fields: Fields  # what a team may read
        told: Fields  # what agents are told of their own rewards

        def __getattr__(self, name: str) -> Any:
            """The rest: time, wrappers, and what a setting has besides, a graph, a mechanism, a threshold."""
