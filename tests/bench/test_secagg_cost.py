"""The cost of secure sums, as an experiment measures it."""

import hushbandits as hb
from hushbandits.bench.run import run
from hushbandits.bench.spec.catalog import modules
from hushbandits.secure.bonawitz import traffic


def test_the_experiment_measures_what_was_planned(tmp_path):
    """Each of twelve agents receives from eleven, twenty numbers each: pulls and rewards of ten arms."""
    (declared,) = (e for _, found in modules().values() for e in found if e.name == "secagg-cost")
    small = declared.overriding({"runs": 1, "env.n_agents": [12], "SecAgg.dropouts": {}})
    run(small, tmp_path / "cost")
    rows = hb.load_results(tmp_path / "cost").to_frame()
    found = {(row.agent.partition(" · ")[2], row.metric): row.value for row in rows.itertuples()}
    for label, neighbours, malicious in (("everybody a neighbour", None, False), ("8 neighbours", 8, False),
                                         ("signed", None, True)):  # fmt: skip
        sent = tuple(found[label, f"secagg_bytes_{way}"] for way in ("up", "down"))
        assert sent == traffic(11, 20, 2 * 11 * 2**16 + 1, neighbours, malicious)
        assert found[label, "secagg_aborts"] == 0
