"""A run's random streams with NumPy only, for independent twins: the draws do not use the package.

A stream is called ``reward``, ``wrapper/Loss/drop`` or ``agent/DP-MASE/noise``: what follows the name of a wrapper or
an agent stands under its own key.
"""

import hashlib

import numpy as np


def _philox(seed, name, step):
    word = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
    counter = np.array([0, step, seed[2], word], np.uint64)
    return np.random.Philox(key=np.array(seed[:2], np.uint64), counter=counter)


def generator(seed, name, step=0):
    """Return NumPy's generator at a step of a stream."""
    kind, *rest = name.split("/")
    if rest:
        seed = [*_philox(seed, f"{kind}/{rest[0]}", 0).random_raw(2), seed[2]]
        name = "/".join(rest[1:])
    return np.random.Generator(_philox(seed, name, step))


def Steps(seed, name):
    """Return a reader of a stream step by step: NumPy's generator for each reader."""
    return generator(seed, name, 2**64 - 1)
