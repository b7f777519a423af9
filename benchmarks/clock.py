"""CPU time of this process, measured in turns."""

import math
import time
from collections.abc import Callable, Mapping


def spent(play: Callable[[], object]) -> float:
    """Return the CPU seconds of one call; other load on the machine counts little."""
    start = time.process_time()
    play()
    return time.process_time() - start


def least(plays: Mapping[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """Return the CPU seconds of each function, the least of so many turns; in turns, so that load affects all alike."""
    found = dict.fromkeys(plays, math.inf)
    for _ in range(turns):
        for name, play in plays.items():
            found[name] = min(found[name], spent(play))
    return found
