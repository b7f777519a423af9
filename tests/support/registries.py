"""Envs that a test registers are gone afterwards, also from the registries of others."""

from contextlib import contextmanager

import gymnasium
import pettingzoo

from hushbandits import registry


@contextmanager
def kept():
    tables = (registry._ENVS, pettingzoo.parallel_registry, pettingzoo.aec_registry, gymnasium.registry)
    before = [dict(table) for table in tables]
    try:
        yield
    finally:
        for table, entries in zip(tables, before, strict=True):
            table.clear()
            table.update(entries)
