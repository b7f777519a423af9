"""One agent's DP-MASE messages reveal no more than ε: an audit, and mutants that it must reject."""

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.best_arm.private_elimination import radii
from hushbandits.privacy.audit import epsilon_lower_bound

BETA = 0.5
LEVEL = 1e-6


def refutes(epsilon, hits, other, runs):
    """Return whether the counts of one event on two neighbouring inputs contradict ε, in either direction."""
    return any(epsilon_lower_bound(a, b, runs, 0.0, LEVEL / 2) > epsilon for a, b in ((hits, other), (other, hits)))


def votes(epsilon, shift, runs, seed, *, noise_epsilon=None, shared=False):
    """Return how often arm 1 is voted out at the end of epoch 1, run by run with the agent's rule.

    Two arms; the difference of their sums lies `shift` rewards beyond the point where the noiseless rule is three noise
    scales short of a vote: a tail event, where Laplace noise reveals most.
    """
    noise_epsilon = noise_epsilon or epsilon
    routine = hb.make_team("DP-MASE", epsilon=epsilon, beta=BETA).routine(2)
    state = routine.state(1, 1, 2)
    due = float(state.due[0, 0])
    h, c = radii(2, 1, noise_epsilon, BETA, due)
    short = 0.0 if noise_epsilon > 1e6 else 3.0 / (noise_epsilon * due)
    rng = np.random.default_rng(seed)
    hits = 0
    p = np.array([noise_epsilon, BETA, 0.0])
    # integer rewards; the last one of arm 0 differs between the neighbours
    base = np.floor((2 * (h + c) - short) * due) + shift
    uniforms = rng.random((runs, 2))
    if shared:
        uniforms[:, 1] = uniforms[:, 0]
    arms, reward = np.ones(2, bool), np.zeros(2)
    for u in uniforms:
        state.sums[0, 0] = base, 0.0
        state.local[0, 0] = True
        state.pulls[0, 0] = due - 1
        vote = np.zeros(2, bool)
        assert routine.learn(state, 0, 0, p, arms, reward, u, vote)
        hits += vote[1]
    return int(hits)


@pytest.mark.parametrize(("epsilon", "runs"), [(1.0, 24_000), (0.1, 24_000)])
def test_messages_keep_their_epsilon(epsilon, runs):
    ours, theirs = votes(epsilon, 1, runs, 0), votes(epsilon, 0, runs, 1)
    assert not refutes(epsilon, ours, theirs, runs)
    assert 0 < theirs < runs


#: Thinned noise: none, half, and Lap(1/R) instead of Lap(1/(εR)) (ε = 1 with a claim of .1).
THIN = {"no noise": (1.0, 1e12, 2000), "half": (1.0, 2.0, 24_000), "a scale that forgets epsilon": (0.1, 1.0, 24_000)}


@pytest.mark.parametrize("mutant", THIN)
def test_a_mutant_with_too_little_noise_is_rejected(mutant):
    epsilon, noise, runs = THIN[mutant]
    hits, other = (votes(epsilon, shift, runs, 1 - shift, noise_epsilon=noise) for shift in (1, 0))
    assert refutes(epsilon, hits, other, runs)


def test_mutant_with_one_draw_for_all_arms_is_rejected():
    # the common draw cancels in every comparison: the vote is a deterministic function of the rewards
    routine = hb.make_team("DP-MASE", epsilon=1.0, beta=BETA).routine(2)
    due = float(routine.state(1, 1, 2).due[0, 0])
    h, c = radii(2, 1, 1.0, BETA, due)
    edge = int(np.floor(2 * (h + c) * due)) - int(np.floor((2 * (h + c) - 3.0 / due) * due)) + 1
    assert refutes(1.0, votes(1.0, edge, 2000, 0, shared=True), votes(1.0, edge - 1, 2000, 1, shared=True), 2000)
    assert not refutes(1.0, votes(1.0, edge, 2000, 0), votes(1.0, edge - 1, 2000, 1), 2000)


def test_an_epoch_never_looks_at_the_global_set():
    """Parallel composition needs this: within an epoch, other agents must not change which arms are pulled."""
    routine = hb.make_team("DP-MASE").routine(4)
    state = routine.state(1, 1, 4)
    for active in ([True] * 4, [False, True, False, True], [False] * 4):
        arms = np.zeros(4, bool)
        assert routine.plan(state, 0, 0, np.array([0.1, BETA]), np.array(active), arms, np.empty(0)) == 4
        assert arms.all()


@pytest.mark.parametrize(("xi", "rate"), [(0.0, "0"), (0.1, "0.1")])
def test_corrupted_votes_promise_no_more_than_the_paper_claims(xi, rate):
    (claim,) = hb.make_batched("CorruptedElimination-v0", xi=xi).guarantees()
    assert claim.mechanism == f"each vote lost with probability {rate}"
    assert claim.epsilon == np.inf  # no differential privacy
    assert claim.assumptions[0].startswith("as claimed by the paper")
