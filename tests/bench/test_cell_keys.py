"""Keys of all built-in cells: a later version continues a folder of today's runs."""

import hashlib
import json
from pathlib import Path

from refusals import rows

from hushbandits.bench.spec.catalog import modules

#: By experiment, SHA-256 of its cells' keys, sorted, a line each.  A changed digest abandons stored runs: declare a new
#: experiment instead.
KEYS = json.loads(Path(__file__).with_name("cell_keys.json").read_text())
SHIPPED = {e.name: e for _, declared in modules().values() for e in declared}


@rows("name", SHIPPED)
def test_the_cells_of_a_shipped_experiment_keep_their_keys(name):
    keys = sorted(cell.key for cell in SHIPPED[name].cells())
    assert hashlib.sha256("\n".join(keys).encode()).hexdigest() == KEYS[name]


def test_no_experiment_with_known_keys_is_gone():
    assert KEYS.keys() == SHIPPED.keys()
