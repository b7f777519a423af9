"""Undo a test's registrations, also in the registries of Gymnasium and PettingZoo."""

from contextlib import contextmanager

import gymnasium
import pettingzoo

from hushbandits.registry import AGENTS, ENVS, WRAPPERS

OURS = ENVS, AGENTS, WRAPPERS
SHIPPED = {name for registry in OURS for name in registry.entries}


def third_party():
    """Return names that are not built-in."""
    return sorted({name for registry in OURS for name in registry.entries} - SHIPPED)


@contextmanager
def kept():
    ours = [registry.entries for registry in OURS]
    theirs = [vars(pettingzoo).get(name, {}) for name in ("parallel_registry", "aec_registry")]  # from 1.27 on
    tables = (*ours, *theirs, gymnasium.registry)
    before = [dict(table) for table in tables]
    try:
        yield
    finally:
        for table, entries in zip(tables, before, strict=True):
            table.clear()
            table.update(entries)
