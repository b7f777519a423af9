"""Fed-MoM-UCB (Demirel et al. 2022) among lying clients equals its naive twin; and the attack."""

import math

import numpy as np
import pytest
from helpers import arms_pulled, build, equal
from kinds import each_once
from scipy import stats
from twins_federated import A, corrupted, fed_mom, naive_phases, rewards_of

import hushbandits as hb
from hushbandits.agents.demirel2022 import MAPPINGS, FedMoMUCB, clients_needed, group_size, tolerance
from hushbandits.bench.runner.curves import record
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.wrappers.false_means import FalseMeans

MEANS = (0.9, 0.2, 0.5, 0.85)
GOOD = {0, 3}
T = 900
LENGTH = {"linear": lambda p: 10, "doubling": lambda p: 2 if p == 1 else 2 ** (p - 1)}


@pytest.mark.weekly
@each_once
@pytest.mark.parametrize("reading", ["invert", "hide"])
@pytest.mark.parametrize(
    ("m", "share", "mapping", "growth"),
    [(9, 0.3, "arithmetic", "linear"), (11, 0.1, "polynomial", "doubling"), (6, 0.2, "geometric", "doubling"),
     (4, 0.45, "harmonic", "linear"), (1, 0.1, "harmonic", "doubling")],
)  # fmt: skip
def test_it_equals_its_naive_twin(m, share, mapping, growth, reading):
    given = {"n_agents": m, "means": MEANS, "spread": 0.02, "margin": 0.1, "horizon": T}
    rule = {"fraction": share, "mapping": mapping, "growth": growth, "beta": 0.4, "sigma": 0.1}
    env, team = build("FederatedNetwork-v0", "Fed-MoM-UCB", 3, given, rule, [FalseMeans(reading, share)])
    arms = arms_pulled(env, team, spawn_seeds(8, 3))
    final = env.metrics()
    for r, seed in enumerate(spawn_seeds(8, 3)):
        pull = rewards_of(seed, env.arms.own[r].tolist(), T)
        liars, shown = corrupted(seed, pull, m, share, reading, GOOD, T)
        server = fed_mom(m, share, mapping, 0.4, sigma=0.1)
        played, uploads = naive_phases(shown, m, 4, T, LENGTH[growth], server)
        assert arms[r].tolist() == played
        assert team._uploads[r] == uploads
        regret = np.maximum(0.9 - np.array(MEANS) - 0.1, 0)[arms[r]].sum(0)
        assert final["honest_regret"][r] == pytest.approx(np.mean([regret[i] for i in range(m) if i not in liars]))
    assert len(np.unique(arms[:, -60:])) < 4  # arms were dropped


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_sizes_are_the_papers(mapping):
    for share in (0.05, 0.1, 0.2, 0.25, 0.45):
        a = A[mapping](share)
        e = (a - share) / a
        assert e > 0.5
        m = clients_needed(10, 50_000, share, mapping)
        assert m == math.ceil(4 * math.log(5e8) / (math.log(2) * (4 * e - 1) * a))
        assert group_size(m, share, mapping) == math.floor(m / math.ceil(m * a))
        limit = 2 * 0.01 * math.sqrt((4 * e - 1) * math.log(2) / ((2 * e - 1) * group_size(m, share, mapping)))
        assert tolerance(m, share, mapping, 0.01) == pytest.approx(4 * limit)  # no E falls to β/4 below it


def played(reading, runs, rounds=40):
    """Return the arms of all rounds (T, R, M), the agents' own rewards, and their last inbox."""
    core = hb.make_batched(
        "FederatedNetwork-v0", runs=runs, n_agents=10, means=MEANS, spread=0.0, margin=0.1, horizon=rounds,
        graph="complete", max_hops=1, fields=FedMoMUCB.fields, wrappers=[FalseMeans(reading, 0.3)],
    )  # fmt: skip
    core.reset(spawn_seeds(3, runs))
    arms = np.random.default_rng(3).integers(4, size=(rounds, runs, 10))
    said = {"mean": np.full((runs, 10, 4), 0.5), "count": np.ones((runs, 10, 4)), "sent": np.ones((runs, 10), bool)}
    shown = []
    for arm in arms:
        shown.append(core.pull(arm).reward)
        heard = core.communicate(said).inbox
    return core, arms, np.array(shown), heard["mean"], heard["sender"]


@pytest.mark.parametrize("reading", ["invert", "hide"])
def test_a_liar_goes_by_its_own_lies(reading):
    """A liar's own reward is the sample that it fabricates, and others receive the mean of these."""
    core, arms, shown, heard, sender = played(reading, 20)
    lies = core.wrappers[0].byzantine
    assert lies.sum(1).tolist() == [3] * 20
    good = np.take_along_axis(core.gaps, arms.reshape(40, 20, 10).transpose(1, 0, 2).reshape(20, -1), 1) < 1e-12
    good = good.reshape(20, 40, 10).transpose(1, 0, 2)
    made = lies & (good | (reading == "invert"))
    samples = (shown - np.where(good, 0.0, 0.9))[made] / 0.1
    assert stats.kstest(samples, "uniform").pvalue > 1e-6
    assert (shown[~made] < 0).any()  # N(μ, ½²) leaves [0, 1]
    assert (shown[~made] > 1).any()
    for r, m in np.argwhere(lies).tolist():
        (seat, slot) = np.argwhere(sender[r] == m)[0]
        for k in range(4):
            here = (arms[:, r, m] == k) & made[:, r, m]
            expected = shown[here, r, m].mean() if here.any() else 0.5
            assert heard[r, seat, slot, k] == pytest.approx(expected)


@pytest.mark.parametrize("reading", ["invert", "hide"])
def test_liars_of_a_run_that_starts_among_others_are_those_of_one_alone(reading):
    given = {"n_agents": 6, "means": MEANS, "horizon": 50, "graph": "complete", "max_hops": 1}
    env, alone = (
        hb.make_batched("FederatedNetwork-v0", runs=runs, fields=FedMoMUCB.fields, wrappers=[FalseMeans(reading, 0.4)],
                     **given)
        for runs in (3, 1)
    )  # fmt: skip

    def heard(core, count):
        shape = core.runs, 6, 4
        core.pull(np.zeros(shape[:2], int) + core.gaps.argmin(1)[:, None])  # a lie in both readings
        said = {"mean": np.full(shape, 0.5), "count": np.full(shape, count), "sent": np.ones(shape[:2], bool)}
        return core.communicate(said).inbox["mean"]

    env.reset(spawn_seeds(1, 3))
    before = heard(env, 3.0)
    env.reset(spawn_seeds(7, 1), rows=[1])
    alone.reset(spawn_seeds(7, 1))
    for count in (4.0, 9.0):
        np.testing.assert_array_equal(heard(env, count)[1], (own := heard(alone, count))[0])
        assert (own != 0.5).any()
    assert (before[1] != own[0]).any()


@pytest.mark.parametrize(
    ("attack", "agent"), [("invert", "Fed-MoM-UCB"), ("hide", "Fed1-UCB"), ("zero", "Fed-MoM-UCB")]
)
def test_rounds_without_messages_are_played_at_once(attack, agent):
    def played(step):
        given = {"n_agents": 9, "means": MEANS, "spread": 0.01, "horizon": T}
        wrappers = [FalseMeans(attack, 0.3)]
        env, team = build("FederatedNetwork-v0", agent, 3, given, {"sigma": 0.2}, wrappers)
        assert env.can_pull_ahead
        return record(env, team, 5, (10, 300, T), ("regret", "messages"), step=step)

    calls = []
    for at_once, by_phases in zip(played(None), played(lambda: calls.append(1)), strict=True):
        equal(at_once, by_phases)
    assert len(calls) == T
