"""Return values of a user-defined wrapper are checked once; the message names the wrapper and its hook."""

from __future__ import annotations

import numpy as np
from refusals import rows
from talk import game, mine


@rows("value", [[0.0], [True], [3], np.zeros((1, 7), np.float16), np.zeros((1, 0))])
def test_any_number_per_run_is_a_metric(value):
    game(mine("metrics", {"height": value}))
