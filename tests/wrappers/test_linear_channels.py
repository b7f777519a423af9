"""What stands between agents of a linear bandit and its server: secure sums, shuffles, losses, and what is refused."""

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.private_means import PrivateMeans
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle
from hushbandits.wrappers.tree import TreeGaussian

SIZES = {"n_agents": 6, "n_arms": 4, "n_features": 3, "horizon": 40, "rewards": "bernoulli", "contexts": "sphere+1"}


class Tap(hb.Wrapper):
    """Keep the uploads that pass."""

    preserves_guarantees = True

    def reset(self, env, rng, rows=None):
        self.seen = []

    def send(self, message, env):
        self.seen.append({name: np.array(value) for name, value in message.items()})
        return message


def play(*wrappers, agent="Batch-LinUCB", runs=5, **env):
    """Return the env after its end, and the uploads of rounds with any before and after the wrappers."""
    given = SIZES | env
    taps = [Tap(name="first"), *wrappers, Tap(name="last")]
    made = hb.make_batched("FedLinear-All-v0", runs, wrappers=taps, **given)
    hb.rollout(made, hb.make_team(agent, **({"batch": 5} if agent == "Batch-LinUCB" else {})), 1)
    return made, *([x for x in made.wrappers[i].seen if x["sent"].any()] for i in (0, -1))


def test_the_server_sees_a_sum_and_nothing_else():
    _, before, after = play(SecAgg(bound=100))
    assert len(before) == len(after) == 8
    for one, other in zip(before, after, strict=True):
        for name in ("gram", "moment", "pulls"):
            assert np.allclose(other[name].sum(1), one[name].sum(1), atol=1e-4)
            assert not other[name][:, 1:].any()
    plain, sealed = play()[0], play(SecAgg(bound=100, quantization_levels=1 << 30))[0]
    assert np.allclose(plain.metrics()["regret"], sealed.metrics()["regret"])
    assert np.array_equal(plain.metrics()["messages"], sealed.metrics()["messages"])


def test_a_small_cohort_is_not_opened():
    env, before, after = play(Loss(0.6), SecAgg(bound=100, min_cohort=3))
    assert all((x["sent"].sum(1) >= 3).all() | (x["sent"].sum(1) == 0).any() for x in after)
    kept = np.concatenate([x["sent"].sum(1) for x in env.wrappers[-1].seen])
    assert set(kept.tolist()) - {0}
    assert min(set(kept.tolist()) - {0}) >= 3
    assert len(before) > len(after) or (kept == 0).any()


def test_the_protocol_opens_the_same_sums():
    pytest.importorskip("cryptography")
    ideal, played = (play(SecAgg(bound=100, protocol=how), runs=2, horizon=10)[0] for how in (None, "bonawitz"))
    assert np.array_equal(ideal._server.sums["gram"], played._server.sums["gram"])


def test_a_shuffle_keeps_the_uploads_and_hides_who_sent_which():
    given = {"runs": 2000, "horizon": 5, "contexts": "cube", "rewards": "gaussian"}  # no two uploads are equal
    env, before, after = play(Shuffle(), **given)
    one, other = before[0]["moment"], after[0]["moment"]
    assert np.array_equal(np.sort(one, 1), np.sort(other, 1))
    place = (one[:, 0, None] == other).all(2).argmax(1)  # of the first agent's upload
    counts = np.bincount(place, minlength=6)
    assert ((counts - 2000 / 6) ** 2 / (2000 / 6)).sum() < 37  # chi-square, 5 degrees of freedom: 6e-7
    assert np.allclose(env._server.sums["gram"], play(**given)[0]._server.sums["gram"])


def test_a_tree_stands_before_all_of_them():
    for behind in ([SecAgg(bound=1e4)], [Shuffle()], [Loss(0.5)]):
        env, *_ = play(TreeGaussian(batch=5), *behind, agent="Private-FedLinUCB")
        claims = env.guarantees()
        assert (claims[0].epsilon, claims[0].invalid_reason) == (1.0, "")
        assert env.metrics()["epsilon"].tolist() == [pytest.approx(1.0)] * 5
    with pytest.raises(ValueError, match="bound=1"):
        play(TreeGaussian(batch=5), SecAgg(), agent="Private-FedLinUCB")


def test_huber_replaces_rewards_of_pulls_in_what_is_uploaded(tmp_path, monkeypatch):
    """All features are 1, so a moment is a sum of rewards; a reward replaced twice, late or in no sum is refuted."""
    monkeypatch.chdir(tmp_path)
    np.save("one.npy", np.ones((4, 1)))
    given = {"contexts": "one.npy", "n_features": 1, "rewards": "gaussian"}
    huber, tree = Huber(1.0, "constant", 0.25, fraction=0.5), TreeGaussian(batch=5, sigma=1e-9)
    for agent, wrappers in (
        ("Batch-LinUCB", [huber]),
        *(("Private-FedLinUCB", way) for way in ([tree, huber], [huber, tree])),
    ):
        env, before, after = play(*wrappers, agent=agent, **given)
        hit = next(wrapper.byzantine for wrapper in env.wrappers if wrapper.name == "Huber")
        assert (hit.sum(1) == 3).all()
        earned = np.array([x["moment"] for x in before]).reshape(8, -1, 5, 6).sum(1)
        for one, other in zip(earned, after, strict=True):
            assert np.allclose(other["moment"][..., 0], np.where(hit, 0.25 * 5, one), atol=1e-6)
            assert np.allclose(other["gram"], 5, atol=1e-6)
    with pytest.raises(ValueError, match="rewards before"):
        play(Loss(), huber)


def test_local_noise_is_on_the_rewards_in_what_is_uploaded():
    """Features have norm 1: the moment of B pulls gets the noise of B draws where agents see true rewards."""
    for own, spread in (("true", 5 * 2 / 0.5**2), ("private", 0.0)):
        env, before, after = play(LocalLaplace(0.5, own_feedback=own), runs=200)
        noise = np.array([one["moment"] - other["moment"] for one, other in zip(after, before, strict=True)])
        np.testing.assert_allclose((noise**2).sum(-1).mean(), spread, rtol=0.07)  # 4 s.e. of 9,600 moments
        claims = env.guarantees()
        assert [c.invalid_reason == "" for c in claims] == [own == "private", True][-len(claims) :]
    env, *_ = play(TreeGaussian(batch=5), LocalLaplace(), agent="Private-FedLinUCB")
    assert "LocalLaplace" in env.guarantees()[0].invalid_reason
    for location, held in ((1.0, True), (1.5, False)):
        wrappers = [Huber(0.1, "constant", location), TreeGaussian(batch=5)]
        env = hb.make_batched("FedLinear-All-v0", wrappers=wrappers, contexts="sphere+1", rewards="bernoulli")
        assert (env.guarantees()[0].invalid_reason == "") == held


@pytest.mark.parametrize(
    ("wrapper", "env", "words"),
    [
        (Huber(relays=True), {}, "relay"),
        (PrivateMeans(), {}, "arm"),
        (SecAgg(), {"server": "differences"}, "differences"),
        (Shuffle(), {"server": "answer"}, "answer"),
        (Shuffle(), {"graph": "path"}, "graph"),
        (SecAgg(), {"graph": "path"}, "graph"),
    ],
)
def test_what_has_no_meaning_is_refused(wrapper, env, words):
    with pytest.raises(ValueError, match=words):
        hb.make_batched("FedLinear-All-v0", wrappers=[wrapper], **SIZES, **env)


def test_a_field_that_a_wrapper_declares_is_offered_only_if_it_is_sent():
    class Declares(hb.Wrapper):
        def message_fields(self, fields, env):
            return {**fields, "reward": hb.Field()}

    hb.testing.check_wrapper(Declares, "FedLinear-v0")
