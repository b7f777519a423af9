"""Who is protected from whom by how much, line by line: what was told when the runs were played."""

from __future__ import annotations

from collections.abc import Sequence

from hushbandits.bench.declare.spec import Cell, Experiment
from hushbandits.bench.declare.vocabulary import symbol
from hushbandits.bench.play.promised import groups
from hushbandits.bench.play.store import Store
from hushbandits.protection import HEADS

__all__ = ["UNTOLD", "guarantees"]

#: Stands for the promises of a line of which the folder holds none.
UNTOLD = (("not noted when these runs were played", *[""] * (len(HEADS) - 1)),)


def guarantees(
    store: Store, experiment: Experiment, along: Sequence[str] = ()
) -> list[tuple[list[str], tuple[tuple[str, ...], ...]]]:
    """Return every line's promises, each a text per head; lines that promise the same stand together.

    A line is named by its label alone if that decides what it promises; else by what else is swept too, at last by
    the parameters `along` which its picture runs.
    """
    cells = experiment.cells()
    told = {label: rows for labels, rows in groups(store, cells) for label in labels}
    rows = {cell.key: told.get(cell.label, UNTOLD) for cell in cells}
    found: dict[tuple[tuple[str, ...], ...], dict[str, None]] = {}
    named: dict[str, set[object]] = {}
    for cell in cells:
        for name in _names(cell, along):
            named.setdefault(name, set()).add(rows[cell.key])
    for cell in cells:
        name = next((name for name in _names(cell, along) if len(named[name]) == 1), cell.label)
        found.setdefault(rows[cell.key], {})[name] = None
    return [(list(names), promises) for promises, names in found.items()]


def _names(cell: Cell, along: Sequence[str]) -> tuple[str, str, str]:
    rest = [f"{symbol(k)} = {v}" for k, v in cell.point.items() if k not in along]
    return cell.line, ", ".join([cell.line, *rest]), cell.label
