"""Trees of noisy sums: the law of what is sent, what it costs, and what voids a promise.

A correct sampler fails a test with probability 10⁻⁶ or less; seeds are fixed.
"""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy import stats

import hushbandits as hb
from hushbandits.agents.zhou2024 import tree_of
from hushbandits.privacy.divergence import delta_at, gaussian_profile
from hushbandits.privacy.tree import gaussian_mu, sensitivity
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.tree import TreeGaussian

D, ARMS, AGENTS = 3, 4, 8


class Tap(hb.Wrapper):
    """Record every message that passes, and the pulls behind it."""

    def reset(self, env, rng, rows=None):
        self.seen = []

    def send(self, message, env):
        self.seen.append({name: np.array(value) for name, value in message.items()} | {"data": env._report()})
        return message


class Turns(hb.Team):
    """Play arms in turn, and look at nothing."""

    setting, required_own_reward = "linear", ()

    def act(self, obs):
        return np.zeros(obs.active_agents.shape, int) + (obs.t % ARMS)[:, None]


def play(runs, batches, batch=2, seed=0, **tree):
    """Return σ, and by agent and batch the exact sums and what is sent, ``(R, M, K, d, d + 1)``."""
    tap = Tap()
    wrappers = [TreeGaussian(batch=batch, **tree), tap]
    sizes = {"n_agents": AGENTS, "n_arms": ARMS, "n_features": D, "horizon": batches * batch, "rewards": "bernoulli"}
    env = hb.make_batched("FedLinear-All-v0", runs, wrappers=wrappers, contexts="sphere+1", **sizes)
    hb.rollout(env, Turns(), seed)
    tap, tree = env.wrappers[1], env.wrappers[0]
    both = [[np.concatenate([x["gram"], x["moment"][..., None]], 3) for x in (row["data"], row)] for row in tap.seen]
    data, sent = np.array(both).transpose(1, 2, 3, 0, 4, 5)
    times = np.array([row["sent"].all() for row in tap.seen])
    assert times.sum() == batches
    assert not np.array([row["sent"].any() for row in tap.seen])[~times].any()
    return tree, data.reshape(*data.shape[:2], batches, batch, D, D + 1).sum(3), sent[:, :, times]


def unit_noise(noise, sigma):
    """Return noise (…, d, d + 1) in the coordinates of the Frobenius norm, over σ: iid N(0, 1), ``(…, d(d + 3)/2)``."""
    i, j = np.triu_indices(D)
    gram = noise[..., i, j] * np.where(i == j, 1.0, math.sqrt(2))
    return np.concatenate([gram, noise[..., -1]], -1) / sigma


def test_messages_are_partial_sums_with_fresh_gaussian_noise():
    batches = 16
    tree, data, sent = play(800, batches)  # 102,400 matrices
    assert data.shape[:3] == (800, AGENTS, batches)
    assert np.array_equal(sent[..., :-1], sent[..., :-1].swapaxes(-1, -2))
    server = sent.cumsum(2)  # S_syn of each agent
    released = np.zeros_like(sent)
    for k in range(1, batches + 1):  # node by node, from the definition of the tree
        low = k & -k
        before = server[:, :, k - low - 1] if k > low else 0.0
        released[:, :, k - 1] = server[:, :, k - 1] - before - data[:, :, k - low : k].sum(2)
    z = unit_noise(released, tree.scale).reshape(-1, batches * D * (D + 3) // 2)
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-7
    n, width = z.shape
    entries = stats.chi2.sf(z.ravel() @ z.ravel(), z.size), stats.chi2.cdf(z.ravel() @ z.ravel(), z.size)
    assert min(entries) > 1e-7
    pairs = (z.T @ z / n)[np.triu_indices(width, 1)] * math.sqrt(n)  # independent entries and batches
    assert np.abs(pairs).max() < stats.norm.isf(1e-7 / pairs.size)
    prefix = unit_noise(server - data.cumsum(2), tree.scale)
    for k in range(1, batches + 1):
        x = prefix[:, :, k - 1].ravel() / math.sqrt(k.bit_count())
        assert min(stats.chi2.sf(x @ x, x.size), stats.chi2.cdf(x @ x, x.size)) > 1e-7


def test_a_run_alone_equals_its_row_and_agents_do_not_share_noise():
    _, data, sent = play(3, 5)
    env = hb.make_batched("PrivateFedLinear-v0", 3, n_agents=2, horizon=60, batch=5)
    alone = hb.make_batched("PrivateFedLinear-v0", 1, n_agents=2, horizon=60, batch=5)
    three = hb.rollout(env, hb.make_team("Private-FedLinUCB"), 7)["regret"]
    seeds = env.seeds[2:]
    assert hb.rollout(alone, hb.make_team("Private-FedLinUCB"), seeds)["regret"][0] == three[2]
    assert (sent[:, 0] - data[:, 0] != sent[:, 1] - data[:, 1]).all()


def test_delta_agrees_with_dp_accounting():
    for sigma, batches in ((6.0, 400), (20.0, 400), (15.0, 1)):
        c = len([*path(1, batches)])
        assert c == max(len([*path(k, batches)]) for k in range(1, batches + 1))
        law = pld.from_gaussian_mechanism(sigma, sensitivity(), value_discretization_interval=1e-4)
        composed = law.self_compose(c) if c > 1 else law
        for epsilon in (0.2, 1.0, 5.0):
            own = delta_at(gaussian_profile(sensitivity() * math.sqrt(c) / sigma), epsilon)
            assert own == pytest.approx(composed.get_delta_for_epsilon(epsilon), abs=1e-6)
    for epsilon, delta in ((0.2, 0.1), (1.0, 1e-5), (5.0, 1e-10)):
        mu = gaussian_mu(epsilon, delta)
        assert delta_at(gaussian_profile(mu), epsilon) == pytest.approx(delta, rel=1e-6)


def test_no_user_moves_a_sum_by_more_than_the_sensitivity():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 200_000, 2))
    x, y = (v / np.linalg.norm(v, axis=1, keepdims=True) * rng.random((len(v), 1)) ** 0.01 for v in (x, y))
    r, s = rng.uniform(-1, 1, (2, len(x), 1)).round()
    for spread in (1.0, math.sqrt(2)):
        gram = ((x[:, :, None] * x[:, None] - y[:, :, None] * y[:, None]) ** 2).sum((1, 2)) / spread**2
        norm = np.sqrt(gram + ((r * x - s * y) ** 2).sum(1))
        assert 0.98 * sensitivity(spread) < norm.max() <= sensitivity(spread)
    assert sensitivity() ** 2 == pytest.approx(4.5)


def test_metrics_charge_the_user_in_most_sums():
    env = hb.make_batched("PrivateFedLinear-v0", 1, n_agents=2, horizon=1000, batch=10)
    tree = tree_of(env)
    obs = env.reset(0)
    for t in range(1000):
        obs = env.pull(np.zeros((1, 2), int))
        obs = env.communicate()
        found = env.metrics()
        most = max([sum(j <= (t + 1) // 10 for j in path(k)) for k in range(1, (t + 1) // 10 + 1)], default=0)
        law = gaussian_profile(tree.mu * math.sqrt(most))
        assert found["delta"][0] == pytest.approx(delta_at(law, 1.0) if most else 0.0)
    assert found["epsilon"][0] == pytest.approx(1.0)
    assert obs.reward is None


def path(k, batches=100):
    """Return the p-sums that hold batch k."""
    while k <= batches:
        yield k
        k += k & -k


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"own_feedback": "true"}, "exact rewards"),
        ({"own_feedback": "true", "batch": None}, "trigger"),
        ({"sigma": 5.0}, "law of its noise"),
        ({"sigma": "zhou2024", "delta": 0.1}, "law of its noise"),
        ({"nodes": "levels"}, "no noise of their own"),
        ({"rewards": "gaussian", "contexts": "cube"}, "no bound"),
        ({"contexts": "long"}, "norms up to 2"),
    ],
)
def test_what_voids_a_promise(given, words, tmp_path):
    if given.get("contexts") == "long":
        np.save(tmp_path / "x.npy", 2 * np.eye(5)[:, [0, 1, 2, 3, 4]].repeat(4, 0))
        given = {"contexts": str(tmp_path / "x.npy"), "rewards": Signed()}
    (claim,) = hb.make_batched("PrivateFedLinear-v0", **given).guarantees()
    assert math.isinf(claim.epsilon)
    assert words in claim.invalid_reason


class Signed(hb.core.random.rewards.Law):
    """Rewards of −2 … 2, of which it is said that they lie in [0, 1]: only features are too long."""

    locations = (-2.0, 2.0)

    def __post_init__(self):
        pass

    def quantile(self, u, location):
        return location + 0 * u


def test_sound_settings_promise_what_they_claim():
    for given in ({}, {"epsilon": 0.2, "delta": 0.1}, {"batch": 1, "n_agents": 1}, {"sigma": "shariff2018"}):
        (claim,) = hb.make_batched("PrivateFedLinear-v0", **given).guarantees()
        assert (claim.epsilon, claim.delta) == (given.get("epsilon", 1.0), given.get("delta", 1e-5))
        assert claim.exact(1, claim.delta) <= claim.epsilon * (1 + 1e-9)
        assert claim.adjacency.replaced == "user"


def test_a_lost_pull_enters_no_sum_and_shifts_no_noise():
    sizes = {"n_agents": 2, "horizon": 40, "batch": 4}
    ends = []
    for rate in (0.0, 1.0):
        env = hb.make_batched("PrivateFedLinear-v0", 1, wrappers=[Loss(rate)], **sizes)
        hb.rollout(env, hb.make_team("Private-FedLinUCB"), 3)
        ends.append(env._server.sums["gram"][0, 0])
        assert env.metrics()["uploads"][0] == 20
    noise = np.trace(ends[1])
    assert np.trace(ends[0]) - noise == pytest.approx(80)  # 80 pulls of norm 1


def test_more_messages_than_the_noise_is_for_are_refused():
    wrappers = [TreeGaussian(batch=4, own_feedback="true")]
    sizes = {"n_agents": 2, "horizon": 8, "rewards": "bernoulli"}
    env = hb.make_batched("FedLinear-All-v0", 1, wrappers=wrappers, contexts="sphere+1", **sizes)
    with pytest.raises(ValueError, match="not for 3"):
        hb.rollout(env, hb.make_team("Batch-LinUCB", batch=1), 0)
    with pytest.raises(ValueError, match="acts="):
        hb.evaluate("FedLinear-All-v0", "Private-FedLinUCB", wrappers=wrappers, env=sizes | {"contexts": "sphere+1"})
    with pytest.raises(ValueError, match="'gram'"):
        hb.make_batched("CoopNetwork-v0", wrappers=[TreeGaussian()])
