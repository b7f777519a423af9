"""A run alone is its row of a batch: every reward, every slot of every inbox, every metric."""

import pytest
from helpers import same_row, trace
from homes import HOMES

from hushbandits.core.luck.tapes import run_seeds


@pytest.mark.parametrize("name", HOMES)
def test_a_run_alone_equals_its_row_slot_by_slot(name):
    home, seeds = HOMES[name], run_seeds(3, 3)
    batch = trace(*home.build(3), seeds)
    for r in range(3):
        same_row(trace(*home.build(1), seeds[r : r + 1]), batch, r)
