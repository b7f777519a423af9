"""Core of the library: envs, random streams, messages, wrappers and teams."""

from hushbandits.core.env import Env
from hushbandits.core.guarantee import NOISED_MEAN, ONCE, ONE_USER, RESOLVED, Adjacency, Guarantee, Run, invalid
from hushbandits.core.messages import Field, Fields, Inbox, Observation, index_field
from hushbandits.core.metric import Metric
from hushbandits.core.payload import Channel, Gathering, Noise, Payload, PointNoise, Sealing, Shuffling
from hushbandits.core.random.arms import Arms, Standing, draw_locations
from hushbandits.core.random.rewards import Bernoulli, Law, RepeatingMeans, UniformMeans
from hushbandits.core.random.streams import LONGEST, Streams, Uniforms, spawn_seeds
from hushbandits.core.rows import set_rows
from hushbandits.core.task import Coding, Part, RLTask
from hushbandits.core.team import EnvView, Requirements, Team
from hushbandits.core.utils import Action, Array, Message, Params, Seeds, extra, jit, lean, nearest, reals, shown, words
from hushbandits.core.utils.validate import affordable, choice, count, divisor, flag, integer, probability, real
from hushbandits.core.validation import Space, Stacked, as_array, checked, choices, handed, inside, locked
from hushbandits.core.world import World
from hushbandits.core.wrapper import Privatizer, SecureFunction, Wrapper, require

__all__ = [
    "LONGEST", "NOISED_MEAN", "ONCE", "ONE_USER", "RESOLVED", "Action", "Adjacency", "Arms", "Array", "Bernoulli",
    "Channel", "Coding", "Env", "EnvView", "Field", "Fields", "Gathering", "Guarantee", "Inbox", "Law", "Message",
    "Metric", "Noise", "Observation", "Params", "Part", "Payload", "PointNoise", "Privatizer", "RLTask",
    "RepeatingMeans", "Requirements", "Run", "Sealing", "SecureFunction", "Seeds", "Shuffling", "Space", "Stacked",
    "Standing", "Streams", "Team", "UniformMeans", "Uniforms", "World", "Wrapper", "affordable", "as_array", "checked",
    "choice", "choices", "count", "divisor", "draw_locations", "extra", "flag", "handed", "index_field",
    "inside", "integer", "invalid", "jit", "lean", "locked", "nearest", "probability", "real", "reals", "require",
    "set_rows", "shown", "spawn_seeds", "words",
]  # fmt: skip
