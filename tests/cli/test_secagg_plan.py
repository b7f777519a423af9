"""What secure sums cost: `hushbandits secagg-plan`, and the experiment that measures it."""

import hushbandits as hb
from hushbandits.bench.declare.catalog import modules
from hushbandits.bench.run import run
from hushbandits.cli.main import main
from hushbandits.secure.costs import traffic
from hushbandits.secure.graph import neighbourhood


def test_a_plan(capsys):
    assert main(["secagg-plan", "--users", "1000", "--dropouts", ".1", "--corrupt", ".05"]) == 0
    said = capsys.readouterr().out
    k, t = neighbourhood(1000, 0.05, 0.1)
    up, down = traffic(1000, 10, 1 << 32, k)
    assert "1,000 users, of whom 100 may drop out and 50 may collude" in said
    assert f'SecAgg(protocol="bonawitz", neighbours={k}, threshold={t})' in said
    assert f"{up:,} bytes up and {down:,} down per user, in 4 rounds" in said


def test_what_no_plan_helps(capsys):
    assert main(["secagg-plan", "--users", "10", "--dropouts", ".5", "--corrupt", ".45"]) == 2
    assert "too few honest users survive in any graph" in capsys.readouterr().err
    assert main(["secagg-plan", "--users", "1"]) == 2
    assert "--users=1 must be an integer in 2..1048576" in capsys.readouterr().err


def test_the_experiment_measures_what_was_planned(tmp_path):
    """Each of twelve agents hears eleven, of twenty numbers each: pulls and rewards of ten arms."""
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
