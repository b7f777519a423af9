"""Linear agents equal twins written from the papers' pseudo-code: to the arm where contexts do not tie, else in law."""

import numpy as np
import pytest
from chance import LEVEL
from helpers import arms_pulled, build
from scipy import stats
from twins_linear import naive_linear

import hushbandits as hb
from hushbandits.core.random.rewards import Gaussian
from hushbandits.core.random.streams import spawn_seeds

ALONE = {"LinUCB": {"beta": 0.5}, "LinUCB-alone": {"beta": 0.5}}
#: Agents, in which activity, and parameters that make them write often.
CASES = [
    ("LinUCB", "one", {"beta": None}), ("LinUCB", "all", {"ridge": 2.0}), ("LinUCB-alone", "ranked", {}),
    ("LinTS", "one", {}), ("LinTS", "all", {"v": 0.3}), ("FedLinUCB", "one", {}),
    ("FedLinUCB", "ranked", {"alpha": 0.25, "beta": None}), ("FedLinUCB", "all", {"alpha": 0.25}),
    ("Async-LinUCB", "one", {"gamma": 1.5}), ("Async-LinUCB", "ranked", {"gamma": 2.0, "beta": None}),
    ("DisLinUCB", "all", {}), ("DisLinUCB", "all", {"threshold": 3.0, "ridge": 2.0}),
    ("Batch-LinUCB", "all", {"batch": 7}),
]  # fmt: skip
#: Sizes of the two comparisons in law.
LAWS = {
    "sphere+1": {"n_agents": 3, "n_arms": 6, "n_features": 4, "horizon": 300},
    "pool": {"n_agents": 5, "n_arms": 5, "n_features": 5, "horizon": 300},
}


@pytest.mark.parametrize(("agent", "activity", "given"), CASES)
def test_it_equals_its_naive_twin(agent, activity, given):
    given, horizon, seeds = {**ALONE.get(agent, {}), **given}, 150, spawn_seeds(3, 2)
    size = {"n_agents": 4, "n_arms": 5, "n_features": 3, "horizon": horizon, "activity": activity}
    arms = arms_pulled(*build("FedLinear-v0", agent, 2, size, given), seeds)
    finals = hb.rollout(*build("FedLinear-v0", agent, 2, size, given), seeds)
    for r, seed in enumerate(seeds):
        played, regret, messages = naive_linear(seed, agent, "cube", activity, 4, 5, 3, horizon, streams=True, **given)
        assert arms[r].tolist() == played
        assert finals["messages"][r] == messages
        np.testing.assert_allclose(finals["regret"][r], regret, atol=1e-9)


@pytest.mark.parametrize(
    ("given", "tree"),
    [
        ({"threshold": 1.0}, {"epsilon": 500.0, "delta": 0.1}), ({"threshold": 0.2, "ridge": 2.0}, {}),
        ({"as_released": True, "threshold": 2.0}, {"epsilon": 20.0, "delta": 0.1}),
    ],
)  # fmt: skip
def test_fed_ucb_equals_its_naive_twin(given, tree):
    """A shift of the released sums that grows with the noise in them is refuted."""
    size, seeds = {"n_agents": 4, "n_arms": 5, "n_features": 3, "horizon": 150}, spawn_seeds(3, 2)
    env = {**size, **tree, "contexts": "cube", "rewards": Gaussian(0.3)}
    arms = arms_pulled(*build("PrivateFedLinear-v0", "FedUCB", 2, env, given), seeds)
    finals = hb.rollout(*build("PrivateFedLinear-v0", "FedUCB", 2, env, given), seeds)
    for r, seed in enumerate(seeds):
        twin = naive_linear(seed, "FedUCB", "cube", "all", *size.values(), streams=True, **tree, **given)
        assert arms[r].tolist() == twin[0]
        assert finals["messages"][r] == twin[2] > 0


def same_law(agent, contexts, activity, runs):
    """Return the least p-value that regret and messages of runs here and of the twin's have one law."""
    size, given = LAWS[contexts], {} if agent == "LinTS" else {"beta": 0.5}
    ours = hb.rollout(
        *build("FedLinear-v0", agent, runs, {**size, "contexts": contexts, "activity": activity}, given), 5
    )
    theirs = [naive_linear(seed, agent, contexts, activity, *size.values(), **given)[1:] for seed in range(runs)]
    both = zip((ours["regret"], ours["messages"]), zip(*theirs, strict=True), strict=True)
    return min(stats.ks_2samp(one, other).pvalue for one, other in both)


@pytest.mark.parametrize("contexts", LAWS)
@pytest.mark.parametrize(
    ("agent", "activity"),
    [
        ("LinUCB", "one"), ("LinUCB-alone", "ranked"), ("LinTS", "one"), ("FedLinUCB", "one"), ("FedLinUCB", "ranked"),
        ("Async-LinUCB", "one"), ("DisLinUCB", "all"), ("Batch-LinUCB", "all"),
    ],
)  # fmt: skip
@pytest.mark.weekly
def test_its_law_is_its_twins(agent, activity, contexts):
    assert same_law(agent, contexts, activity, 200) > LEVEL


@pytest.mark.parametrize(("agent", "contexts"), [("FedLinUCB", "pool"), ("LinUCB-alone", "sphere+1")])
def test_its_law_is_its_twins_in_few_runs(agent, contexts):
    """A twin whose features have equal variances, or whose agents see x instead of x/‖x‖, is refuted."""
    assert same_law(agent, contexts, "one", 60) > LEVEL


def test_messages_are_exact():
    def finals(agent, activity, **given):
        return hb.rollout(*build("FedLinear-v0", agent, 4, {"horizon": 200, "activity": activity}, given), 0)

    m, d, numbers = 15, 15, 15 * 16 // 2 + 15
    ours = finals("LinUCB", "one")
    assert (ours["messages"] == (m + 1) * 200).all()
    assert (ours["numbers"] == ours["messages"] * numbers).all()
    for agent, given in (("DisLinUCB", {"threshold": 2.0}), ("Batch-LinUCB", {"batch": 60})):
        ours = finals(agent, "all", **given)
        assert (ours["messages"] == 2 * m * ours["syncs"]).all()
        assert (ours["syncs"] > 2).all()
    assert (ours["syncs"] == 3).all()
    ours = finals("FedLinUCB", "one", alpha=0.5)
    assert (ours["uploads"] == ours["downloads"]).all()
    assert (ours["uploads"] > 0).all()
    assert (finals("LinUCB-alone", "all")["messages"] == 0).all()
    # with γ = 1 + tiny every upload is news to all others, and the sender has it already
    ours = finals("Async-LinUCB", "one", gamma=1 + 1e-12)
    assert (ours["uploads"] == 200).all()
    assert (ours["downloads"] == 200 * (m - 1)).all()
    assert d == hb.make_batched("FedLinear-v0").n_features
