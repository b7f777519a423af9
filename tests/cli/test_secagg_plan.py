"""`hushbandits secagg-plan`: what it prints is what the calculator and the wire say."""

from hushbandits.cli.main import main
from hushbandits.secure.costs import traffic
from hushbandits.secure.graph import neighbourhood


def test_a_plan(capsys):
    assert main(["secagg-plan", "--users", "1000", "--dropouts", ".1", "--corrupt", ".05"]) == 0
    said = capsys.readouterr().out
    k, t = neighbourhood(1000, 0.05, 0.1)
    up, down = traffic(1000, 10, k)
    assert "1,000 users, of whom 100 may drop out and 50 may collude" in said
    assert f'SecAgg(protocol="bonawitz", neighbours={k}, threshold={t})' in said
    assert f"{up:,} bytes up and {down:,} down per user, in 4 rounds" in said


def test_what_no_plan_helps(capsys):
    assert main(["secagg-plan", "--users", "10", "--dropouts", ".5", "--corrupt", ".45"]) == 2
    assert "too few honest users survive in any graph" in capsys.readouterr().err
    assert main(["secagg-plan", "--users", "1"]) == 2
    assert "--users=1 must be an integer in 2..1048576" in capsys.readouterr().err
