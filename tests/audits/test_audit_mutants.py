"""Broken mechanisms (`mutants`) are each refuted by a named check."""

from dataclasses import replace

import canary_mutants  # noqa: F401
import fresh_mutants  # noqa: F401
import graph_mutants
import hiding_mutants  # noqa: F401
import honest
import mutants
import named_mutants  # noqa: F401
import numpy as np
import pytest
from honest import HONEST
from kinds import weekly_but
from refuted import REFUTED

import hushbandits as hb
from hushbandits.audits.cases import Budget, Case, named
from hushbandits.audits.laws import long_run
from hushbandits.audits.suite import UNSEEN, checks, on_graph
from hushbandits.wrappers.distributed_dp import DiscreteLaplace
from hushbandits.wrappers.local_dp import LocalDiscreteLaplace
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.private_means import PrivateMeans

BUDGET = Budget(samples=1800, largest=150, runs=10)


def failures(mutant, what, budget):
    """Yield the checks that refute a mutant, of kinds that begin with `what`."""
    for check in checks([f"{mutant.__module__}:{mutant.__name__}"], budget):
        if check.what.startswith(what):
            yield from (v.check for v in check.run() if not v.passed)


#: One for each kind of check, on blocks of users and on graphs.
DAILY = {(what, mutant.__module__ == "graph_mutants"): case for case in REFUTED[::-1] for mutant, what, *_ in [case]}


@pytest.mark.parametrize(
    ("mutant", "what", "words", "samples", "runs"),
    weekly_but([*DAILY.values()], *REFUTED),
    ids=lambda x: getattr(x, "__name__", x),
)
def test_a_named_check_refutes_it(mutant, what, words, samples, runs):
    others = []
    for check in failures(mutant, what, replace(BUDGET, samples=samples, runs=runs)):
        if words in check:
            return  # other checks are not run
        others.append(check)
    pytest.fail(f"only {others} refute it")


@pytest.mark.weekly
def test_noise_missing_in_one_block_of_a_hundred_shows_in_a_longer_run():
    (case,) = named(f"mutants:{mutants.OnePercent.__name__}")
    found = [v for v in long_run(case, 512, 16) if not v.passed]
    assert any("noise that is missing" in v.check for v in found)


def test_tails_that_are_cut_too_far_out_are_beyond_the_power_that_is_stated():
    """At eight scales a tail of e^-8/2 is left: it is refuted, or a larger cut would be needed."""
    (case,) = named("fresh_mutants:CutAtEight")
    verdict = next(v for v in long_run(case, 64, 6) if "two rewards tell" in v.check)
    left = float(verdict.power.partition("cut off where ")[2].partition(" ")[0])
    assert not verdict.passed or left > np.exp(-8) / 2


@pytest.mark.parametrize(
    ("variant", "seed"),
    weekly_but([(honest.ClippedReports, 0)], *((variant, 0) for variant in HONEST), (honest.ClippedShares, 7)),
)
def test_what_keeps_its_word_by_another_law_is_not_accused(variant, seed):
    budget = Budget(samples=900, largest=64, runs=6, seed=seed)
    found = [v for check in checks([f"honest:{variant.__name__}"], budget) for v in check.run()]
    assert [(v.check, v.measured) for v in found if not v.passed] == []
    assert variant is honest.LoudVotes or any(v.word == "other law" for v in found)


def test_released_means_show_by_themselves_which_arm_was_better():
    """Two arms, three rounds: with exact own rewards, the first reward decides whether a mean moves in round 3."""
    env = hb.make_batched("CoopNetwork-v0", wrappers=[graph_mutants.ReleasedMeansOnly()], horizon=3)
    verdicts = list(on_graph(Case("means", env.wrappers[0], env, budget=Budget(samples=3600)), (3,)))
    assert verdicts[0].measured > 1.5 * verdicts[0].claimed


@pytest.mark.weekly
def test_the_honest_ones_that_they_are_made_of_pass():
    for cls in (DiscreteLaplace, LocalDiscreteLaplace, PrivateMeans, LocalLaplace):
        for check in checks([f"{cls.__module__}:{cls.__name__}"], BUDGET):
            assert [v for v in check.run() if not v.passed] == []


# -- undetectable by black boxes ---------------------------------------------------------------------------------------


@pytest.mark.weekly
@pytest.mark.parametrize("mutant", [mutants.NeverPlayed, mutants.Secret])
def test_some_mutants_pass_and_the_page_says_why(mutant):
    assert list(failures(mutant, "", Budget(samples=600, largest=60, runs=4))) == []
    reason = {"NeverPlayed": "a trigger that is never played", "Secret": "a secret trigger"}[mutant.__name__]
    assert UNSEEN[reason]
