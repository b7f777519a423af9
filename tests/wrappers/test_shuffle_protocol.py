"""`Shuffle` and `ShuffledSum` through mixes: the same messages, sums and counts; declarations."""

import numpy as np
import pytest
from homes import EACH, FAST, NET, VOTE, Home

import hushbandits as hb
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.feedback.env import Feedback
from hushbandits.envs.feedback.users import Individuals
from hushbandits.secure.mixnet import MIXED, Batches
from hushbandits.testing.games import trace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.shuffle import Shuffle

EACH = {**EACH, "horizon": 120}
SUMS = Home("ShuffleDP-v0", "Random", {**EACH, "security": 10})
#: Settings in which agents use sums of messages, and not their order.
SETTINGS = {
    "network": (Home("CoopNetwork-v0", "Multi-UCB", {**NET, "horizon": 12}), {}),
    "flood": (Home("CoopNetwork-v0", "Multi-UCB", {**NET, "edge_failure_prob": 0.2, "horizon": 12}), {}),
    "exploration": (Home("DPMASE-v0", "DP-MASE", {**VOTE, "n_agents": 4}, FAST), {"batch_window": 150}),
    "feedback": (Home(Feedback, "Random", {**EACH, "rewards": "bernoulli"}), {}),
    "shares": (SUMS, None),
}


def built(setting, runs=1, **options):
    home, needed = SETTINGS[setting]
    if needed is None:  # the env contains the sum
        return home._replace(env={**home.env, **options}).build(runs)
    return home._replace(wrappers=(Loss(0.2), Shuffle(**needed, **options))).build(runs)


def in_order(rounds):
    """Messages without their order."""
    for one in rounds:
        shown = {name: np.nan_to_num(value, nan=-1.0) for name, value in one.items()}
        slots = [name for name, value in shown.items() if value.ndim == 3 and name != "tally"]
        shown |= {name: np.sort(shown[name], 2) for name in slots}
        yield shown | ({"users": np.sort(shown["users"], -1)} if "users" in shown else {})


@pytest.mark.parametrize("setting", SETTINGS)
def test_all_numbers_but_the_order_are_those_of_the_ideal_shuffle(setting):
    *ideal, measured = trace(*built(setting), spawn_seeds(5, 1)).values()
    *rounds, metrics = trace(*built(setting, protocol="mixnet"), spawn_seeds(5, 1)).values()
    np.testing.assert_equal([*in_order(rounds)], [*in_order(ideal)])
    np.testing.assert_equal({name: x for name, x in metrics.items() if name not in MIXED}, measured)
    assert metrics["mixnet_messages"][0] > 0
    assert metrics["mixnet_bytes"][0] > 3 * 48


class Named(Wrapper):
    """Three users whose rewards are their names."""

    def send(self, message, env):
        x = np.broadcast_to([0.0, 0.5, 1.0], (*message["n"].shape, 3)).copy()
        return message.with_fields(reward=Individuals(x, message["n"]))


def test_a_place_says_nothing_of_who_sent():
    """Each of three users comes out at each place a third of the time."""
    env = Feedback(
        simulate_users="individual", horizon=3, runs=300, wrappers=[Named(), Shuffle(protocol="mixnet", n_mixes=1)]
    )
    env.reset(0)
    env.pull((np.zeros((300, 1), int), np.full((300, 1), 3)))
    heard = np.rint(env.communicate().inbox["users"][:, 0, 0] * 2).astype(int)
    places = np.array([np.bincount(column, minlength=3) for column in heard.T])
    assert (abs(places - 100) < 33).all()


def test_it_says_whom_one_trusts():
    words = hb.make_batched("CoopNetwork-v0", wrappers=[Shuffle(protocol="mixnet", n_mixes=2)]).guarantees()[0]
    assert any("the 2 mixes follow the protocol" in text for text in words.assumptions)
    assert not any("trusted" in text for text in words.assumptions)
    for more, honest in (({}, True), ({"simulate_users": "individual", "protocol": "mixnet"}, False)):
        said = hb.privacy_report("ShuffleDP-v0", "Shuffle-DP-SE", **more).lines[0].assumptions
        assert ("an honest shuffler" in said) == honest
        assert any("the 3 mixes follow the protocol" in text for text in said) != honest


def test_the_operating_system_cuts_and_shuffles_where_no_seed_does(monkeypatch):
    """Sums are those of the seed, shares are not; what remains a simulation is the noise."""
    rounds, real = {}, Batches.shuffle
    for secret in (False, True):
        sent = []

        def shuffle(self, run, messages, sent=sent):
            sent.extend(messages)
            return real(self, run, messages)

        monkeypatch.setattr(Batches, "shuffle", shuffle)
        rounds[secret] = trace(*built("shares", protocol="mixnet", insecure_seed=not secret), spawn_seeds(5, 1)), sent
    np.testing.assert_equal(rounds[True][0], rounds[False][0])
    assert len(rounds[True][1]) == len(rounds[False][1]) > 0
    assert rounds[True][1] != rounds[False][1]
    for setting in ("ShuffleDP-v0", "CoopNetwork-v0"):
        for secret in (False, True):
            own = {"protocol": "mixnet", "insecure_seed": not secret}
            env = (
                {"simulate_users": "individual", **own} if setting == "ShuffleDP-v0" else {"wrappers": [Shuffle(**own)]}
            )
            said = hb.make_batched(setting, **env).guarantees()[0].assumptions
            assert secret != any("keys and orders follow from the run's seed" in words for words in said)


@pytest.mark.parametrize("shuffle", ["split-and-mix", "pure"])
def test_no_block_is_opened_of_fewer_users_than_its_noise_counts_on(shuffle):
    env = hb.make_batched("ShuffleDP-v0", 100, shuffle=shuffle, min_participants=0.75, n_arms=2, wrappers=[Loss(0.25)])
    env.reset(0)
    env.pull((np.zeros((100, 1), int), np.full((100, 1), 64)))
    left = env.communicate().inbox.total("n")
    assert 0 < (left == 0).sum() < 100
    assert left[left > 0].min() >= env.mechanism.sure(64) == 48
