"""The round contract: two beats on arrays, tapes, messages, wrappers, teams; here is what its users import."""

from hushbandits.core.actions import Coding, Space, Stacked, choices
from hushbandits.core.env import Env
from hushbandits.core.env_view import World
from hushbandits.core.ground.jit import jit
from hushbandits.core.ground.limits import affordable
from hushbandits.core.ground.types import Array, Message, Seeds
from hushbandits.core.ground.validate import choice, count, flag, integer, nearest, probability, real, reals, shown
from hushbandits.core.guarantee import Adjacency, Guarantee
from hushbandits.core.luck.arms import Arms, Standing
from hushbandits.core.luck.rewards import Bernoulli, Law, RepeatingMeans, UniformMeans, draw_locations
from hushbandits.core.luck.tapes import LONGEST, Uniforms, streams
from hushbandits.core.measure import Measure
from hushbandits.core.messages import Field, Fields, Inbox, require
from hushbandits.core.obs import Obs
from hushbandits.core.payload import Channel, Gathering, Noise, Payload, PointNoise, Sealing, Shuffling, check_noise
from hushbandits.core.roles import Privatizer
from hushbandits.core.task import Part, Task
from hushbandits.core.team import Team
from hushbandits.core.validation import as_array, checked, handed, inside, locked
from hushbandits.core.wrapper import Wrapper

__all__ = [
    "LONGEST", "Adjacency", "Arms", "Array", "Bernoulli", "Channel", "Coding", "Env", "Field", "Fields", "Gathering",
    "Guarantee", "Inbox", "Law", "Measure", "Message", "Noise", "Obs", "Part", "Payload", "PointNoise", "Privatizer",
    "RepeatingMeans", "Sealing", "Seeds", "Shuffling", "Space", "Stacked", "Standing", "Task", "Team", "UniformMeans",
    "Uniforms", "World", "Wrapper", "affordable", "as_array", "check_noise", "checked", "choice", "choices", "count",
    "draw_locations", "flag", "handed", "inside", "integer", "jit", "locked", "nearest", "probability", "real",
    "reals", "require", "shown", "streams",
]  # fmt: skip
