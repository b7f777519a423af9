"""What a test registers is gone afterwards, envs also from the registries of others."""

from contextlib import contextmanager

import gymnasium
import pettingzoo

from hushbandits.core.entries import AGENTS, ENVS, WRAPPERS


@contextmanager
def kept():
    ours = ENVS.entries, AGENTS.entries, WRAPPERS.entries
    tables = (*ours, pettingzoo.parallel_registry, pettingzoo.aec_registry, gymnasium.registry)
    before = [dict(table) for table in tables]
    try:
        yield
    finally:
        for table, entries in zip(tables, before, strict=True):
            table.clear()
            table.update(entries)
