"""Keys of all built-in cells: a later version continues a folder of today's runs."""

import hashlib
import json
from pathlib import Path

from hushbandits.bench.spec.catalog import modules

#: By experiment, SHA-256 of its cells' keys, sorted, a line each.  A changed digest abandons stored runs: declare a new
#: experiment instead.
KEYS = json.loads(Path(__file__).with_name("cell_keys.json").read_text())
SHIPPED = {e.name: e for _, declared in modules().values() for e in declared}


def test_the_cells_of_shipped_experiments_keep_their_keys():
    keys = {name: "\n".join(sorted(cell.key for cell in one.cells())) for name, one in SHIPPED.items()}
    assert {name: hashlib.sha256(text.encode()).hexdigest() for name, text in keys.items()} == KEYS
