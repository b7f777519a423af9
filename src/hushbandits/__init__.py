"""hushbandits: multi-agent bandits that must keep quiet.

Three settings (private exploration, cooperation over a delayed graph, privatized feedback) with wrappers for
secure aggregation, shuffling, local noise, contamination and loss, and the papers' algorithms as reference agents.

>>> import hushbandits as hb
>>> results = hb.evaluate("CoopNetwork-v0", "Multi-UCB", runs=2, env={"n_agents": 4, "horizon": 100})
>>> results.final("regret").shape
(2,)
"""

from hushbandits import interrupt as _interrupt  # noqa: F401  (first: what follows is slow, and may be stopped)

# isort: split
import sys as _sys
from importlib import import_module as _import_module
from importlib.metadata import version as _version
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING

from hushbandits import testing
from hushbandits.bench.compare import Comparison, compare
from hushbandits.bench.declare.claim import Claim
from hushbandits.bench.declare.effects import Difference, Ratio, Slope, Value
from hushbandits.bench.declare.spec import Experiment, Figure, Use
from hushbandits.bench.evaluate import evaluate
from hushbandits.bench.opened import RunFolder, open_run
from hushbandits.bench.results import Results
from hushbandits.bench.run import run
from hushbandits.core.acts import Acts
from hushbandits.core.each import Each
from hushbandits.core.env import Env
from hushbandits.core.guarantee import Adjacency, Guarantee
from hushbandits.core.luck.rewards import UniformMeans
from hushbandits.core.luck.tapes import run_seeds
from hushbandits.core.measure import Measure
from hushbandits.core.messages import Field, Inbox
from hushbandits.core.obs import Obs
from hushbandits.core.play import meet, play
from hushbandits.core.team import Protocol, Team
from hushbandits.core.wrapper import Wrapper
from hushbandits.policies.policy import Policy
from hushbandits.policies.shelf import list_policies, make_policy
from hushbandits.protection import Protection
from hushbandits.protection import privacy as _privacy
from hushbandits.registry import (
    list_agents,
    list_envs,
    list_wrappers,
    make_core,
    make_team,
    make_wrapper,
    register_agent,
    register_env,
    register_wrapper,
)
from hushbandits.views.aec import make_aec
from hushbandits.views.farama import put_modules as _put_modules
from hushbandits.views.make import make, wrap
from hushbandits.views.torchrl import make_torchrl
from hushbandits.views.vector import make_vec

if TYPE_CHECKING:
    from hushbandits.protection import privacy
    from hushbandits.views.sb3 import RowsVecEnv as VecEnv
else:

    class _Answering(_ModuleType):
        """The room of the pure functions, ``hushbandits.privacy``: called, it answers for an env and an agent."""

        __call__ = staticmethod(_privacy)

    privacy = _import_module("hushbandits.privacy")
    privacy.__class__ = _Answering

_put_modules(_sys.modules[__name__], list_envs())


def make_sb3(*args: object, **kwargs: object) -> "VecEnv":
    """Build a ``VecEnv`` of Stable-Baselines3: see `hushbandits.views.sb3.make_sb3` (extra ``sb3``)."""
    from hushbandits.views.sb3 import make_sb3

    return make_sb3(*args, **kwargs)  # type: ignore[arg-type]


__version__ = _version("hushbandits")

__all__ = [
    "Acts",
    "Adjacency",
    "Claim",
    "Comparison",
    "Difference",
    "Each",
    "Env",
    "Experiment",
    "Field",
    "Figure",
    "Guarantee",
    "Inbox",
    "Measure",
    "Obs",
    "Policy",
    "Protection",
    "Protocol",
    "Ratio",
    "Results",
    "RunFolder",
    "Slope",
    "Team",
    "UniformMeans",
    "Use",
    "Value",
    "Wrapper",
    "compare",
    "evaluate",
    "list_agents",
    "list_envs",
    "list_policies",
    "list_wrappers",
    "make",
    "make_aec",
    "make_core",
    "make_policy",
    "make_sb3",
    "make_team",
    "make_torchrl",
    "make_vec",
    "make_wrapper",
    "meet",
    "open_run",
    "play",
    "privacy",
    "register_agent",
    "register_env",
    "register_wrapper",
    "run",
    "run_seeds",
    "testing",
    "wrap",
]
