"""Broken mechanisms (`mutants`): each is refuted, by a check that has a name."""

import mutants
import pytest

from hushbandits.audits.drawn import long_run
from hushbandits.audits.suite import UNSEEN, Budget, checks
from hushbandits.wrappers.distributed_dp import DiscreteLaplace
from hushbandits.wrappers.local_dp import LocalDiscreteLaplace
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.private_means import PrivateMeans
from hushbandits.wrappers.secagg import SecAgg

BUDGET = Budget(samples=1800, largest=150, runs=10)


def failures(name, what="", budget=BUDGET):
    """Checks that refute a mutant, of kinds that begin with `what`, one by one."""
    for check in checks([f"mutants:{name}"], budget):
        if check.what.startswith(what):
            yield from (v.check for v in check.run() if not v.passed)


#: Mutant, kind of check, and the words of a check that refutes it.
REFUTED = [
    (mutants.GammaScale, "white box", "promise"),
    (mutants.ForgottenPrecision, "white box", "promise"),
    (mutants.OneSided, "white box", "promise"),
    (mutants.AsPrinted, "white box", "promise"),
    (mutants.NoNoise, "white box", "promise"),
    (mutants.Dropouts, "white box", "left: price"),
    (mutants.Boast, "white box", "promise"),
    (mutants.Boast, "white box", "profile"),
    (mutants.CheapLedger, "white box", "ledger, 3 blocks"),
    (mutants.HalfAtATenth, "drawn law", "the noise's law"),
    (mutants.HalfAtTen, "drawn law", "the noise's law"),
    (mutants.Half, "black box", "black box"),
    (mutants.ReusedSeed, "drawn law", "block 1 later"),
    (mutants.ReusedSeed, "black box", "z = z′"),
    (mutants.ReusedPairs, "drawn law", "block 1 later"),
    (mutants.ReusedRuns, "drawn law", "the next run"),
    (mutants.DependsOnTheSum, "drawn law", "by background (worst: 1)"),
    (mutants.LastUser, "drawn law", "by background (worst: 5)"),
    (mutants.LastUser, "black box", "black box"),
    (mutants.UnusualSize, "drawn law", "by size (worst: 77)"),
    (mutants.AfterBlock1000, "drawn law", "by stretch of the run"),
    (mutants.LeakInN, "black box", " n"),
    (mutants.LeakInBits, "black box", "bits"),
    (mutants.FloatBits, "black box", "sums off the grid"),
    (mutants.ReusedReleases, "drawn law", "two views"),
    (mutants.OneAgentBare, "drawn law", "by agent (worst: 1)"),
    (mutants.OneAgentBare, "black box", "agent 1's messages"),
    (mutants.SameForAll, "drawn law", "the next run or seat"),
    (mutants.Bold, "white box", "coins of any two rewards"),
    (mutants.Bold, "drawn law", "ε that agent 0's refute"),
    (mutants.Bolder, "drawn law", "ε that agent 2's refute"),
    (mutants.Timid, "drawn law", "by reward"),
    (mutants.OneCoin, "drawn law", "the next run or seat"),
    (mutants.LoudReports, "drawn law", "the noise's law"),
    (mutants.SmallCohorts, "secure function", "blocks of fewer than 5 users"),
    (mutants.SmallCohorts, "secure function", "rounds of fewer than 3 messages"),
    (mutants.BareWindows, "secure function", "votes of fewer than 3 agents"),
    (mutants.KeepsTheOrder, "secure function", "order, network"),
    (mutants.BareVotes, "black box", "votes"),
    (mutants.HalfVotes, "black box", "votes"),
]


@pytest.mark.parametrize(("mutant", "what", "words"), REFUTED, ids=lambda x: getattr(x, "__name__", x))
def test_a_named_check_refutes_it(mutant, what, words):
    budget = Budget(samples=6000) if mutant is mutants.HalfVotes else BUDGET
    others = []
    for check in failures(mutant.__name__, what, budget):
        if words in check:
            return  # what other checks would say is not asked
        others.append(check)
    pytest.fail(f"only {others} refute it")


def test_noise_missing_in_one_block_of_a_hundred_shows_in_a_longer_run():
    verdicts = long_run([mutants.OnePercent(), SecAgg()], "mutant", 256, 32)
    assert "drawn, 2,040 blocks: blocks without noise" in (v.check for v in verdicts if not v.passed)


@pytest.mark.slow
def test_the_honest_ones_that_they_are_made_of_pass():
    for name in ("DiscreteLaplace", "LocalDiscreteLaplace", "PrivateMeans", "LocalLaplace"):
        module = {"PrivateMeans": PrivateMeans, "LocalLaplace": LocalLaplace}.get(name, DiscreteLaplace).__module__
        module = LocalDiscreteLaplace.__module__ if name == "LocalDiscreteLaplace" else module
        for check in checks([f"{module}:{name}"], BUDGET):
            assert [v for v in check.run() if not v.passed] == []


# -- what no black box can see ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mutant", [mutants.NeverPlayed, mutants.Secret])
def test_some_mutants_pass_and_the_page_says_why(mutant):
    assert list(failures(mutant.__name__)) == []
    reason = {"NeverPlayed": "a trigger that is never played", "Secret": "a secret trigger"}[mutant.__name__]
    assert UNSEEN[reason]
