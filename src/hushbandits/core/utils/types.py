"""Type aliases that all modules share."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: What all acting agents do: the array of an action's one field, or one for each.
Action = Array | tuple[Array, ...]
Message = Mapping[str, Any]
#: Parameters by name; the function that takes them checks them.
Params = Mapping[str, Any]
#: One row per run: two words of its key, and its number (`hushbandits.core.random.streams.spawn_seeds`).
Seeds = NDArray[np.uint64]
