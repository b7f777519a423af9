"""What tests of damaged stores share: ways to damage a file, and all that can be read from one."""

from __future__ import annotations

import numpy as np

from hushbandits.bench.play.integrity import rows_sum
from hushbandits.bench.play.schema import HELD
from hushbandits.bench.play.store import Store


def everything(path):
    """All that tables, pictures, exports and claims are made of."""
    with Store(path, readonly=True) as store:
        told = [repr(store.experiments), store.seed, sorted((k, sorted(v)) for k, v in store.done().items())]
        told += map(repr, [*store.rows(), *store.sessions(), *store.failures()])
        for experiment in store.experiments:
            for cell in experiment.cells():
                told.append((cell.label, store.present(cell, experiment.runs).tolist()))
                for metric in store.metrics(cell):
                    told.append((metric, store.final(cell, metric, experiment.runs).tolist()))
                    times, values = store.curve(cell, metric, experiment.runs)
                    told.append((times.tolist(), np.nan_to_num(values, nan=-1).tolist()))
        return told


def forged(db):
    """Let what a store says of its sessions and failures match its checksums again."""
    for table, (columns, name) in HELD.items():
        total = str(rows_sum(db.execute(f"SELECT {columns} FROM {table}")))
        db.execute("UPDATE spec SET value = ? WHERE name = ?", (total, name))


def _flip(data, rng):
    for _ in range(rng.integers(1, 4)):
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)


def _zero_page(data, rng):
    page = 4096 * rng.integers(len(data) // 4096)
    data[page : page + 4096] = bytes(4096)


def _zero_piece(data, rng):
    at, size = rng.integers(len(data)), rng.integers(1, 600)
    data[at : at + size] = bytes(len(data[at : at + size]))


def _noise(data, rng):
    at, size = rng.integers(len(data)), rng.integers(1, 600)
    data[at : at + size] = rng.bytes(len(data[at : at + size]))


def _truncate(data, rng):
    del data[rng.integers(len(data)) :]


def _truncate_pages(data, rng):
    del data[4096 * rng.integers(len(data) // 4096) :]


def _swap_pages(data, rng):
    a, b = (4096 * rng.integers(len(data) // 4096) for _ in range(2))
    data[a : a + 4096], data[b : b + 4096] = data[b : b + 4096], data[a : a + 4096]


def _repeat_page(data, rng):
    a, b = (4096 * rng.integers(len(data) // 4096) for _ in range(2))
    data[b : b + 4096] = data[a : a + 4096]


DAMAGES = (_flip, _flip, _zero_page, _zero_piece, _noise, _truncate, _truncate_pages, _swap_pages, _repeat_page)


def damage(data, rng):
    """A copy of `data`, damaged in one of these ways."""
    broken = bytearray(data)
    DAMAGES[rng.integers(len(DAMAGES))](broken, rng)
    return bytes(broken)
