"""`SecAgg` by the protocol of Bonawitz et al.: identical runs, effects of dropouts, declarations."""

import math

import numpy as np
import pytest
from homes import EACH, FAST, NET, VOTE, Home
from kinds import each_once

import hushbandits as hb
from hushbandits.core.random.streams import spawn_seeds
from hushbandits.envs.feedback.env import Feedback
from hushbandits.privacy.samplers import polya_epsilon
from hushbandits.secure.bonawitz import MEASURES, SecureSum
from hushbandits.testing.games import trace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle

EACH = {**EACH, "horizon": 90}
FEW = {**NET, "horizon": 12}
#: Settings, wrappers before the sum, and parameters of the sum there.
SETTINGS = {
    "network": (Home("CoopNetwork-v0", "Multi-UCB", FEW), (Loss(0.2),), {}),
    "exploration": (Home("DPMASE-v0", "DP-MASE", {**VOTE, "n_agents": 4}, FAST), (Loss(0.1),), {"batch_window": 40}),
    "feedback": (Home(Feedback, "Random", EACH), (Loss(0.2),), {}),
    "mechanism": (Home("DistDP-v0", "Random", {**EACH, "n_agents": 2}), None, {}),
}


def built(setting, runs=1, **protocol):
    home, before, needed = SETTINGS[setting]
    if before is None:  # the env contains the sum
        return home._replace(env={**home.env, **protocol}).build(runs)
    return home._replace(wrappers=(*before, SecAgg(**needed, **protocol))).build(runs)


@each_once
@pytest.mark.parametrize(
    "protocol",
    [{}, {"insecure_seed": False}, {"malicious": True, "min_cohort": 3}, {"neighbours": 4, "threshold": 1}],
    ids=lambda protocol: " ".join(protocol) or "default",
)
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_numbers_of_a_run_are_those_of_the_ideal_sum(setting, protocol):
    common = {name: value for name, value in protocol.items() if name == "min_cohort"}
    *ideal, measured = trace(*built(setting, **common), spawn_seeds(5, 1)).values()
    *rounds, metrics = trace(*built(setting, protocol="bonawitz", **protocol), spawn_seeds(5, 1)).values()
    np.testing.assert_equal(rounds, ideal)
    np.testing.assert_equal({name: x for name, x in metrics.items() if name not in MEASURES}, measured)
    assert metrics["secagg_bytes_up"][0] > 0
    assert metrics["secagg_rounds"][0] > 0
    assert metrics["secagg_aborts"][0] == 0


def block(env, n, seed=0):
    """Return the inbox of one block of n users who pull arm 0."""
    env.reset(seed)
    env.pull((np.array([[0]]), np.array([[n]])))
    return env.communicate().inbox


ONES = dict(rewards="bernoulli", means=[1.0, 0.0], permute_arms=False, simulate_users="individual", horizon=1000)


def test_a_block_is_the_sum_of_those_who_were_there():
    for seed in range(10):
        env = Feedback(wrappers=[SecAgg(protocol="bonawitz", threshold=4, dropouts={"masked": 0.3})], **ONES)
        inbox, cost = block(env, 16, seed), env.metrics()
        assert inbox.total("n")[0, 0] == 16 - cost["secagg_dropped_masked"][0]
        assert inbox.total("reward")[0, 0] == inbox.total("n")[0, 0] > 0
        assert cost["secagg_rounds"][0] == 4


def test_who_drops_out_after_its_message_is_in_the_sum():
    env = Feedback(wrappers=[SecAgg(protocol="bonawitz", threshold=4, dropouts={"unmask": 0.3})], **ONES)
    assert block(env, 16).total("n")[0, 0] == 16
    assert env.metrics()["secagg_dropped_unmask"][0] > 0


@pytest.mark.parametrize("options", [{"threshold": 15, "dropouts": {"masked": 0.5}}, {"threshold": 16},
                                     {"min_cohort": 14, "threshold": 2, "dropouts": {"shares": 0.5}}])  # fmt: skip
def test_of_too_few_nothing_arrives(options):
    env = Feedback(wrappers=[SecAgg(protocol="bonawitz", **options)], **ONES)
    inbox = block(env, 16)
    assert not inbox.arrived.any()
    assert inbox.total("n")[0, 0] == inbox.total("reward")[0, 0] == 0
    assert env.metrics()["secagg_aborts"][0] == 1


def test_votes_that_missed_their_window_are_in_a_later_one():
    """All agents vote once for every arm; dropouts and aborts delay votes and lose none."""
    env = hb.make_batched(
        "DPMASE-v0", n_agents=8, n_arms=2, means=[0.9, 0.1], horizon=400, threshold=9,
        wrappers=[SecAgg(batch_window=8, protocol="bonawitz", threshold=1, dropouts={"masked": 0.4, "unmask": 0.3})],
    )  # fmt: skip
    env.reset(1)
    counts = []
    for _ in range(300):
        env.pull(np.ones((1, 1, 2), bool))
        env.communicate({"vote": np.ones((1, 1, 2), bool)})
        counts.append(env.votes[0].tolist())
    assert env.metrics()["secagg_dropped_masked"][0] > 0
    assert len({tuple(count) for count in counts}) > 3  # not all at once
    assert counts[-1] == [8, 8]


def test_a_window_in_which_everybody_votes_counts_everybody():
    """The modulus holds a sum of all agents' votes, the largest one."""
    secagg = SecAgg(batch_window=20, protocol="bonawitz", threshold=1)
    world = {"n_agents": 2, "n_arms": 2, "means": [0.9, 0.1], "threshold": 2}
    env = hb.make_batched("DPMASE-v0", horizon=40, wrappers=[secagg], **world)
    env.reset(0)
    for _ in range(20):
        env.pull(np.ones((1, 1, 2), bool))
        env.communicate({"vote": np.ones((1, 1, 2), bool)})
    assert env.votes[0].tolist() == [2, 2]


def test_it_says_who_must_not_collude():
    said = hb.privacy_report(
        "DistDP-v0", "Dist-DP-SE", simulate_users="individual", protocol="bonawitz", neighbours=20, threshold=12
    )
    line = said.lines[1]
    assert line.mechanism.startswith("modular sum by the protocol of Bonawitz et al. (20 neighbours, threshold 12)")
    assert any("colludes with 12 of its neighbours" in words for words in line.assumptions)
    assert any("a simulation" in words for words in line.assumptions)
    assert said.lines[0].epsilon == 1.0
    cheating = SecAgg(protocol="bonawitz", malicious=True, insecure_seed=False)
    words = hb.make_batched("CoopNetwork-v0", wrappers=[cheating]).guarantees()[0].assumptions
    assert not any("simulation" in text or "ideal" in text for text in words)
    assert "an ideal functionality" in str(hb.privacy_report("DistDP-v0", "Dist-DP-SE"))


@pytest.mark.parametrize(("malicious", "most"), [(False, 42), (True, 21)])
def test_so_many_colluders_are_borne_and_no_more(malicious, most):
    """Of 64 users t = 43 unmask: as many know a secret; with a lying server 2t − n = 22 are enough."""
    secagg = SecAgg(protocol="bonawitz", malicious=malicious)
    assert [secagg.tolerates(64, colluders) for colluders in (most, most + 1)] == [True, False]


def test_dropouts_inside_leave_the_noise_of_as_many_as_a_sum_is_opened_of():
    """⌊2k/3⌋ + 1 of k = n − 1 neighbours: 3 of 5 users, 43 of 64."""
    lossy = {"simulate_users": "individual", "protocol": "bonawitz", "dropouts": {"masked": 0.1}}
    worst = max(polya_epsilon((2 * (n - 1) // 3 + 1) / n, g, g) for n in range(3, 65) for g in [math.ceil(n**0.5)])
    found = hb.make_batched("DistDP-v0", horizon=64, **lossy).guarantees()[0]
    assert found.epsilon == pytest.approx(worst, rel=1e-9)
    assert polya_epsilon(43 / 64, 8, 8) == pytest.approx(1.70, abs=0.005)
    assert np.isinf(hb.make_batched("DistDP-v0", wrappers=[Loss(0.1)], **lossy).guarantees()[0].epsilon)
    assert (
        hb.make_batched("DistDP-v0", min_participants=0.7, wrappers=[Loss(0.1)], **lossy).guarantees()[0].epsilon == 1.0
    )
    core = hb.make_batched("DistDP-v0", min_participants=0.9, horizon=60, **lossy)
    hb.rollout(core, hb.make_team("Random"), 1)
    assert all(row["survivors"] >= core.mechanism.sure(row["planned"]) for row in core.mechanism.ledger.rows(0))
    late = {**lossy, "dropouts": {"unmask": 0.1}}
    assert hb.make_batched("DistDP-v0", **late).guarantees()[0].epsilon == 1.0


def test_without_cryptography_only_the_protocols_are_missing(monkeypatch):
    monkeypatch.setattr("hushbandits.secure.primitives.find_spec", lambda name: None)
    SecAgg(), Shuffle()
    for make in (lambda: SecAgg(protocol="bonawitz"), lambda: Shuffle(protocol="mixnet"), lambda: SecureSum(2)):
        with pytest.raises(
            ImportError,
            match=r"secure sums and mixes need the package cryptography: pip install 'hushbandits\[secagg\]'",
        ):
            make()


def test_a_repr_shows_the_protocol_where_there_is_one():
    assert "min_cohort=2" in repr(SecAgg())
    assert "protocol" not in repr(SecAgg())
    assert "protocol='bonawitz', neighbours=None" in repr(SecAgg(protocol="bonawitz"))
