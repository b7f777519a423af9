"""Time, as the benchmarks take it: of this process's CPU, and in turns."""

import math
import time
from collections.abc import Callable, Mapping


def spent(play: Callable[[], object]) -> float:
    """CPU-seconds of one call: what else the machine does counts little."""
    start = time.process_time()
    play()
    return time.process_time() - start


def least(plays: Mapping[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """CPU-seconds of each, the least of so many turns.  All take turns, so that a busy machine hits all alike."""
    found = dict.fromkeys(plays, math.inf)
    for _ in range(turns):
        for name, play in plays.items():
            found[name] = min(found[name], spent(play))
    return found
