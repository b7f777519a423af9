"""Messages of numbers behind a filter: what agents say stays within a budget, and silence is not seen."""

import numpy as np
import pytest
from chance import LEVEL
from scipy import stats

import hushbandits as hb
from hushbandits.wrappers.laplace_filter import LaplaceFilter
from hushbandits.wrappers.loss import Loss

ID = "PricedNetwork-Train-v0"
PAIR = {"n_agents": 2, "graph": "complete", "n_arms": 2, "horizon": 12, "message_rounds": (2, 3, 5, 8)}


def heard(say, runs=3, seed=0, **env):
    """Play a pair of agents that say ``say(t, reward)``; return what arrives, ``(T, R, M, K)``, and the env."""
    core, numbers = hb.make_batched(ID, runs, **{**PAIR, **env}), []
    obs = core.reset(seed)
    while obs.running.any():
        reward = core.pull(np.zeros((runs, 2), int)).reward
        said = say(int(obs.t[0]) + 1, reward)
        obs = core.communicate({name: np.broadcast_to(x, (runs, 2, *np.shape(x)[2:])) for name, x in said.items()})
        numbers.append(np.where(obs.inbox.arrived[..., 0, None], obs.inbox.total("numbers"), np.nan))
    return np.array(numbers), core


def vector(x):
    return {"numbers": np.broadcast_to(np.asarray(x, float), (1, 1, 2)) if np.ndim(x) == 0 else x}


@pytest.mark.parametrize("size", [0.1, 0.3, 1.0])
def test_what_goes_through_adds_up_to_one_at_most(size):
    """The same noise is on silence and on words, so that their difference is what went through."""
    (loud, core), (quiet, _) = heard(lambda t, x: vector(size)), heard(lambda t, x: vector(0.0))
    through = np.nansum(np.abs(loud - quiet), (0, 3))
    np.testing.assert_allclose(through, min(1.0, 8 * size), atol=1e-9)
    np.testing.assert_allclose(core.metrics()["epsilon"], min(1.0, 8 * size), atol=1e-9)


def test_rounds_of_messages_are_public_and_silence_is_not_seen():
    """A team that keeps silent where its reward is 0 is heard as often as one that always speaks."""
    talk, core = heard(lambda t, x: vector(0.1) | {"sent": x > 0.5})
    assert np.flatnonzero(~np.isnan(talk).all((1, 2, 3))).tolist() == [1, 2, 4, 7]
    assert not np.isnan(talk[[1, 2, 4, 7]]).any()
    assert (core.metrics()["bits"] == core.metrics()["messages"] * 128).all()


def test_the_noise_is_laplace_at_twice_one_over_epsilon():
    drawn = heard(lambda t, x: vector(0.0), runs=4000, epsilon=4.0)[0]
    drawn = drawn[~np.isnan(drawn)]
    assert stats.kstest(drawn, stats.laplace(scale=0.5).cdf).pvalue > LEVEL
    assert stats.kstest(drawn, stats.laplace(scale=0.47).cdf).pvalue < LEVEL  # that the test would notice


def least_epsilon(scale):
    """Return a lower bound on ε, wrong with probability `LEVEL`, of a team that says its rewards verbatim at once.

    The noise is divided by `scale`; the two inputs are all rewards 0 and all rewards 1, and the event is a number ≥ 1.
    """
    runs, counts = 20_000, []
    for mean in (0.0, 1.0):
        env = {"means": (mean, mean), "epsilon": scale, "n_arms": 2}
        said = lambda t, x: {"numbers": np.stack([2.0 * x - 1.0, np.zeros_like(x)], 2)}  # noqa: E731
        counts.append((heard(said, runs, seed=int(mean), **env)[0][1, :, 0, 0] >= 1.0).sum())
    low = stats.beta.ppf(LEVEL / 2, counts[1], runs - counts[1] + 1)
    high = stats.beta.isf(LEVEL / 2, counts[0] + 1, runs - counts[0])
    return np.log(low / high)


def test_a_team_that_says_its_rewards_verbatim_does_not_break_the_promise():
    """It comes close to it; noise of half the scale would break it."""
    assert 0.8 < least_epsilon(1.0) <= 1.0 < least_epsilon(2.0)


def test_the_promise_is_about_all_rewards_of_an_agent_and_about_numbers_alone():
    (claim,) = hb.make_batched(ID, epsilon=0.7).guarantees()
    assert (claim.epsilon, claim.delta, claim.adjacency.replaced, claim.run.times) == (0.7, 0.0, "participant", 1)
    assert hb.privacy_report(ID, "Noisy-Vote", epsilon=0.7).lines[0].run_epsilon == 0.7
    beside = hb.make_batched(ID, extra_fields={"reward": hb.Field()})
    assert np.isinf(beside.guarantees()[0].epsilon)
    lossy = hb.make_batched(ID, wrappers=[Loss(0.5)])
    assert np.isfinite([g.epsilon for g in lossy.guarantees()]).any()
    with pytest.raises(ValueError, match="numbers"):
        hb.make_batched("CoopNetwork-v0", wrappers=[LaplaceFilter(1.0)])
    for rounds in ((), (3, 3), (0, 2)):
        with pytest.raises(ValueError, match="message_rounds"):
            hb.make_batched(ID, message_rounds=rounds)


def test_both_forms_of_an_action_play_alike_and_returns_are_charged():
    rng, prices = np.random.default_rng(0), {"epsilon": 0.5, "bits": 1e-3}
    box, native = (
        hb.make_vec(ID, 2, cost_coefficients=prices, action_format=form, **PAIR) for form in ("box", "native")
    )
    seen = box.reset(seed=0)[0], native.reset(seed=0)[0]
    total, rewards = np.zeros(4), []
    for _ in range(11):
        np.testing.assert_array_equal(*seen)
        action = rng.uniform(-0.3, 0.3, (4, 4)).astype(np.float32)
        one = box.step(action)
        other = native.step({"arm": action[:, :2].argmax(1), "numbers": action[:, 2:]})
        np.testing.assert_array_equal(one[1], other[1])
        seen, total = (one[0], other[0]), total + one[1]
        rewards.append(box.core.own_reward.mean(1))
    costs = sum(price * box.core.metrics()[name] for name, price in prices.items())
    np.testing.assert_allclose(total.reshape(2, 2), (np.sum(rewards, 0) - costs)[:, None].repeat(2, 1))


def test_a_policy_that_is_trained_plays_as_it_did_in_training(tmp_path):
    from hushbandits.learning.train import train

    for algo, hyper in (("ppo", {"policy": "equivariant", "net_arch": [], "n_steps": 12}), ("es", {"population": 4})):
        pytest.importorskip({"ppo": "sb3_contrib", "es": "cma"}[algo])
        card = train(ID, tmp_path / algo, algo=algo, steps=90, runs=3, env={"horizon": 12}, hyper=hyper, held_out=3)
        played = hb.evaluate(ID, f"sb3:{tmp_path / algo}", runs=3, seed=1 << 64, env={"horizon": 12})
        assert played.final("regret").mean() == card["training"]["curve"][-1]["metrics"]["regret"]


def test_an_agent_that_never_communicates_pays_no_epsilon():
    lost = hb.evaluate("PricedNetwork-Train-v0", "UCB1", runs=2)
    assert (lost.final("epsilon") == 0.0).all()
