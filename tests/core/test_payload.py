"""Errors of payloads whose class lists an operation that it does not define."""

import numpy as np
import pytest

from hushbandits.core.payload import OPERATIONS, Payload

CALLS = {
    "drop": lambda it: it.drop(0.5, None),
    "replace": lambda it: it.replace(0.5, None, 0.5, None),
    "map": lambda it: it.map(np.exp),
    "add": lambda it: it.add(None, None),
    "encode": lambda it: it.encode(np.ones(1), None),
    "modulo": lambda it: it.modulo(np.ones(1)),
    "shuffle": lambda it: it.shuffled(None, None),
    "seal": lambda it: it.sealed(None, None),
}


class Listed(Payload):
    operations = dict.fromkeys(OPERATIONS, ())


@pytest.mark.parametrize("verb", CALLS)
def test_an_operation_that_is_listed_must_be_defined(verb):
    with pytest.raises(NotImplementedError, match=f"Listed .*{verb}"):
        CALLS[verb](Listed())
    with pytest.raises(ValueError, match="messages cannot be"):
        CALLS[verb](Payload())
