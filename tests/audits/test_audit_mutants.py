"""Broken mechanisms (`mutants`): each is refuted, by a check that has a name."""

import fresh_mutants
import graph_mutants
import hiding_mutants
import mutants
import pytest

import hushbandits as hb
from hushbandits.audits.cases import Case, named
from hushbandits.audits.drawn import long_run
from hushbandits.audits.network import messages
from hushbandits.audits.suite import UNSEEN, Budget, checks
from hushbandits.wrappers.distributed_dp import DiscreteLaplace
from hushbandits.wrappers.local_dp import LocalDiscreteLaplace
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.private_means import PrivateMeans

BUDGET = Budget(samples=1800, largest=150, runs=10)


def failures(mutant, what="", budget=BUDGET):
    """Checks that refute a mutant, of kinds that begin with `what`, one by one."""
    for check in checks([f"{mutant.__module__}:{mutant.__name__}"], budget):
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
    (mutants.ReusedSeed, "drawn law", "1 later, 0 runs on"),
    (mutants.ReusedSeed, "black box", "z = z′"),
    (mutants.ReusedPairs, "drawn law", "the last of the same size"),
    (mutants.ReusedRuns, "drawn law", "0 later, 1 runs on"),
    (mutants.DependsOnTheSum, "drawn law", "by background (worst: 1)"),
    (mutants.LastUser, "drawn law", "by background (worst: 5)"),
    (mutants.LastUser, "black box", "black box"),
    (mutants.UnusualSize, "drawn law", "by size (worst: 77)"),
    (mutants.AfterBlock1000, "drawn law", "by stretch of the run"),
    (mutants.LeakInN, "black box", " n"),
    (mutants.LeakInBits, "black box", "bits"),
    (mutants.FloatBits, "black box", "sums off the grid"),
    (graph_mutants.ReusedReleases, "drawn law", "two views"),
    (graph_mutants.OneAgentBare, "drawn law", "by agent (worst: 1)"),
    (graph_mutants.OneAgentBare, "black box", "agent 1's first reward"),
    (graph_mutants.SameForAll, "drawn law", "0 later, 0 runs on"),
    (graph_mutants.Bold, "white box", "coins of any two rewards"),
    (graph_mutants.Bold, "drawn law", "ε that agent 0's coins refute"),
    (graph_mutants.Bolder, "drawn law", "ε that agent 2's coins refute"),
    (graph_mutants.Timid, "drawn law", "by reward"),
    (graph_mutants.OneCoin, "drawn law", "0 later, 0 runs on"),
    (graph_mutants.LoudReports, "drawn law", "the noise's law"),
    (hiding_mutants.SmallCohorts, "secure function", "blocks of fewer than 5 users"),
    (hiding_mutants.SmallCohorts, "secure function", "rounds of fewer than 3 messages"),
    (hiding_mutants.BareWindows, "secure function", "votes of fewer than 3 agents"),
    (hiding_mutants.KeepsTheOrder, "secure function", "order, network"),
    (fresh_mutants.LargeBlocks, "white box", "5 sizes from 1000 to 10,000,000"),
    (fresh_mutants.LargeDraws, "drawn law", "pooled, up to n = 100000"),
    (fresh_mutants.AtFour, "drawn law", "the noise's law"),
    (fresh_mutants.BareServer, "drawn law", "its law by server (worst: 1)"),
    (fresh_mutants.ArmThree, "drawn law", "its law by arm"),
    (fresh_mutants.LastBlock, "drawn law", "own rewards: its law by place in the run (worst: 7)"),
    (fresh_mutants.ClippedTails, "drawn law", "its tails (too few"),
    (fresh_mutants.Rounded, "drawn law", "values that occur again"),
    (fresh_mutants.EvenSteps, "drawn law", "multiples of a number"),
    (fresh_mutants.Unclipped, "black box", "beyond [0, 1]"),
    (fresh_mutants.AllAtTheFirst, "drawn law", "users lost before the mechanism"),
    (fresh_mutants.ScaledBySurvivors, "drawn law", "users lost before the mechanism: the noise's law"),
    (fresh_mutants.RewardTape, "drawn law", "and the luck of the rewards of place 2"),
    (fresh_mutants.RewardLuck, "drawn law", "by rewards of the first and the last user"),
    (fresh_mutants.FiveBlocksLater, "drawn law", "worst: 5 later, 0 runs on"),
    (fresh_mutants.Antithetic, "drawn law", "two views together"),
    (fresh_mutants.WrongDecode, "drawn law", "decoded out of range"),
    (fresh_mutants.AllRewards, "black box", "all rewards of a user"),
    (fresh_mutants.SmallDelta, "white box", "promise"),
    (fresh_mutants.WhoIsSilent, "black box", "n ≤ 63"),
    (graph_mutants.ReleasedMeansOnly, "black box", "agent 0's first reward"),
    (graph_mutants.NoisedRewardsOnly, "black box", "arm 0 of round 2"),
    (graph_mutants.SingleRelease, "white box", "3 releases"),
    (graph_mutants.ShortHorizon, "white box", "16 releases"),
    (graph_mutants.OneOfARun, "black box", "all rewards of agent 0, 16 rounds"),
    (graph_mutants.AllOfAnAgent, "black box", "all rewards of agent 0, 16 rounds"),
    (graph_mutants.ToldAndReported, "black box", "all together"),
    (graph_mutants.ToldBeforeNoise, "black box", "told mean"),
    (graph_mutants.SideField, "black box", "quality 0 of round 1"),
    (graph_mutants.WhoIsSilent, "black box", "-1e+09"),
    (graph_mutants.Unclipped, "black box", "beyond [0, 1]"),
    (graph_mutants.ClippedTails, "drawn law", "its tails (too few"),
    (graph_mutants.Rounded, "drawn law", "values that occur again"),
    (graph_mutants.RewardTape, "drawn law", "own rewards: its law by reward"),
    (graph_mutants.SevenRoundsLater, "drawn law", "worst: 7 later, 0 runs on"),
    (graph_mutants.LateReleases, "drawn law", "by stretch of the run"),
    (graph_mutants.LastRound, "drawn law", "by round (worst: 11)"),
    (graph_mutants.ThirdArm, "drawn law", "by arm (worst: 2)"),
    (graph_mutants.GentleOnes, "drawn law", "by reward (worst: 1.0)"),
    (graph_mutants.HalfMeans, "drawn law", "the noise's law"),
    (graph_mutants.CarriedOn, "drawn law", "the noise's law"),
    (hiding_mutants.BareVotes, "black box", "votes"),
    (hiding_mutants.HalfVotes, "black box", "votes"),
]


#: What needs more runs.
MANY = (hiding_mutants.HalfVotes, graph_mutants.ToldAndReported)


@pytest.mark.parametrize(("mutant", "what", "words"), REFUTED, ids=lambda x: getattr(x, "__name__", x))
def test_a_named_check_refutes_it(mutant, what, words):
    budget = Budget(samples=6000) if mutant in MANY else BUDGET
    others = []
    for check in failures(mutant, what, budget):
        if words in check:
            return  # what other checks would say is not asked
        others.append(check)
    pytest.fail(f"only {others} refute it")


def test_noise_missing_in_one_block_of_a_hundred_shows_in_a_longer_run():
    (case,) = named(f"mutants:{mutants.OnePercent.__name__}")
    verdicts = long_run(case, Budget(), 256, 16)
    assert "drawn, 2,040 blocks: blocks without noise" in (v.check for v in verdicts if not v.passed)


def test_released_means_tell_by_themselves_which_arm_was_better():
    """Two arms, three rounds: where agents go by exact rewards, a mean moves in round 3 or not, as the first was."""
    env = hb.make_core("CoopNetwork-v0", wrappers=[graph_mutants.ReleasedMeansOnly()], horizon=3)
    verdicts = list(messages(Case("means", env.wrappers[0], env), Budget(samples=3600), covered=("mean",)))
    assert verdicts[0].measured > 1.5 * verdicts[0].claimed


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
    assert list(failures(mutant)) == []
    reason = {"NeverPlayed": "a trigger that is never played", "Secret": "a secret trigger"}[mutant.__name__]
    assert UNSEEN[reason]
