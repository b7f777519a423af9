"""Names for types that every module shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Message", "Passing", "Seeds"]

Array = NDArray[Any]
Message = Mapping[str, Any]
#: A message on its way, which whoever passes it on may write to: arrays, and in feedback a cohort.
Passing = dict[str, Any]
Seeds = Sequence[np.random.SeedSequence]
