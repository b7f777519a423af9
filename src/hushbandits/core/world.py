"""`World`, the common interface of `Env` and `EnvView` for wrappers and teams."""

from typing import TYPE_CHECKING, Any, ClassVar

from hushbandits.core.messages import Fields
from hushbandits.core.random.rewards import Law
from hushbandits.core.utils import Array


class World:
    """Base class of `Env` and `EnvView`, which declares attributes for sizes, time and fields.

    What it does not declare is of any type: what one setting shows, and what has a class that is built upon this one.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_batched("CoopNetwork-v0", n_agents=3)
    >>> isinstance(env, World), env.n_agents, sorted(env.fields)
    (True, 3, ['arm', 'reward'])
    """

    if TYPE_CHECKING:
        setting: ClassVar[str]
        time_unit: ClassVar[str]
        n_agents: int  # M
        n_arms: int  # K
        runs: int  # R
        horizon: Any  # an int; None: exploration, until it is decided
        law: Law  # family of the reward laws
        fields: Fields  # what a team sends
        sent_fields: Fields  # what reaches the transport
        inbox_fields: Fields  # what a team may read
        own_reward_fields: Fields  # fields of the agents' own rewards

        @property
        def t(self) -> Array: ...
        @property
        def running(self) -> Array: ...
        @property
        def active_agents(self) -> Array: ...
        @property
        def report(self) -> Fields: ...
        def __getattr__(self, name: str) -> Any: ...
