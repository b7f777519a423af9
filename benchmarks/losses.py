"""ε of many releases of each mechanism, by our accounting and by dp-accounting's privacy losses.

Run: ``python -m benchmarks losses`` (a minute of CPU time): a table of docs/privacy/outside.md.  It needs
dp-accounting.

Every mechanism has ε = 1.  Blocks of 100 users are composed by our ledger, and reports and releases on a graph by our
privacy report.
"""

import math

import numpy as np
from scipy import stats

import hushbandits as hb
from hushbandits.privacy.laplace import release_counts
from hushbandits.privacy.ledger import Ledger

DELTA, TIMES, USERS = 1e-6, (10, 100), 100
_FEEDBACK, _SMALL = "hushbandits.envs.feedback:Feedback", 1e-9
#: Step of the privacy losses of laws that dp-accounting does not know; it rounds them up (its default: 1e-4).
_STEP = 1e-5
#: Graph of two agents.
_GRAPH = {"n_agents": 2, "n_arms": 2}


def pld():
    """Import and return dp-accounting's module of privacy-loss distributions."""
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution


def by_pmf(law, shift, low, high, symmetric=True):
    """Return the privacy loss of an integer law that a reward moves by `shift`, from its probabilities."""
    at = np.arange(low, high + 1)
    log_p = law(at)
    here = dict(zip(at.tolist(), log_p.tolist(), strict=True))
    there = dict(zip((at + shift).tolist(), log_p.tolist(), strict=True))
    return pld().from_two_probability_mass_functions(
        here, there, value_discretization_interval=_STEP, symmetric=symmetric
    )


def pure(noise, g):
    """Return dp-accounting's view of any mechanism with ε = 1 and δ = 0."""
    import dp_accounting.pld.common as common

    return pld().from_privacy_parameters(common.DifferentialPrivacyParameters(1.0, 0.0))


def skellam(noise, g):
    variance = USERS * noise.variance
    far = g + math.ceil(14 * math.sqrt(variance))
    return by_pmf(lambda x: stats.skellam.logpmf(x, variance / 2, variance / 2), g, -far, far)


def gaussian(noise, g):
    return pld().from_discrete_gaussian_mechanism(math.sqrt(USERS * noise.variance), sensitivity=g)


def laplace(noise, g):
    return pld().from_discrete_laplace_mechanism(1 / noise.b, sensitivity=g)


def truncated(noise, g):
    return by_pmf(lambda x: np.log(noise.pmf(x)), g, -noise.bound, noise.bound)


def binomial(noise, g):
    trials = USERS * noise.k
    return by_pmf(lambda x: stats.binom.logpmf(x, trials, noise.q), 1, 0, trials, symmetric=False)


_BINARY = {"shuffle": "binary-sum", "delta": _SMALL}
#: Mechanisms on blocks: env, its parameters, dp-accounting's law, and its name.
BLOCKS = {
    "CentralLaplace": ("CentralDP-v0", {}, lambda *_: pld().from_laplace_mechanism(1.0), "Laplace"),
    "CentralLaplace, discrete": ("CentralDP-v0", {"discrete": True}, laplace, "discrete Laplace"),
    "DiscreteLaplace": ("DistDP-v0", {}, laplace, "discrete Laplace"),
    "Skellam": ("DistRDP-v0", {}, skellam, "from SciPy's Skellam probabilities"),
    "DiscreteGaussian": ("DistCDP-v0", {}, gaussian, "discrete Gaussian of the sum's variance"),
    "ShuffledNoise, split-and-mix": ("ShuffleDP-v0", {}, laplace, "discrete Laplace"),
    "ShuffledNoise, pure": ("ShuffleDP-v0", {"shuffle": "pure"}, pure, "any ε-DP mechanism"),
    "ShuffledNoise, binary-sum": ("ShuffleDP-v0", _BINARY, binomial, "from SciPy's binomial probabilities"),
    "ShuffledNoise, binary-sum, exact": (
        "ShuffleDP-v0", {**_BINARY, "calibrate": "exact"}, binomial, "from SciPy's binomial probabilities",
    ),
    "LocalDiscreteLaplace": ("LocalDP-v0", {}, laplace, "discrete Laplace"),
    "LocalTruncated": (_FEEDBACK, {}, truncated, "from its probabilities"),
}  # fmt: skip


def _flip(times):
    """Return randomized response: a uniform bit with probability 2/(1 + e^ε)."""
    return pld().from_randomized_response(2 / (1 + math.e), 2).self_compose(times)


def _means(times):
    """Return the releases of one mean over a run of so many rounds, one after the other."""
    wrapper, whole = hb.make_wrapper("PrivateMeans", epsilon=1.0), pld().identity()
    for n in release_counts(1.0, wrapper.release_exponent, times).tolist():
        whole = whole.compose(pld().from_laplace_mechanism(float(n) ** (wrapper.release_exponent / 2)))
    return whole


#: Wrappers on a graph: parameters, dp-accounting's composed law, and its name.
GRAPHS = {
    "LocalLaplace": ({}, lambda k: pld().from_laplace_mechanism(1.0).self_compose(k), "Laplace"),
    "LocalLaplace, 64 levels": (
        {"quantization_levels": 64},
        lambda k: pld().from_discrete_laplace_mechanism(1 / 64, sensitivity=64).self_compose(k),
        "discrete Laplace",
    ),
    "LocalBernoulli": ({}, _flip, "randomized response"),
    "PrivateMeans": ({}, _means, "Laplace, a scale for each release"),
}
#: Mechanisms without a counterpart: only a guarantee for one participation, and no law of what an observer sees.
NONE = ("DP-MASE", "AdaP-UCB", "AdaP-KLUCB", "AdaP-TT", "DP-SE-alone")


def on_blocks(name, times):
    """Return our ε and dp-accounting's of a user in so many blocks."""
    env_id, settings, law, _ = BLOCKS[name]
    given = {"wrappers": [hb.make_wrapper("LocalTruncated", delta=_SMALL)]} if name == "LocalTruncated" else settings
    env = hb.make_batched(env_id, horizon=1000, **given)
    env.reset(0)
    mechanism, book = env.mechanism, Ledger(env.mechanism.price, lambda n: {}, 1)
    book.use(np.full((1, 1), USERS), np.full((1, 1), USERS))
    seen = mechanism.release(USERS, USERS)
    theirs = law(seen.law, seen.shift).self_compose(times).get_epsilon_for_delta(DELTA)
    return book.returning(0, times, DELTA)[0], theirs


def on_graph(name, times):
    """Return our ε and dp-accounting's of all rewards of an agent in so many rounds, or of all releases of a mean."""
    settings, law, _ = GRAPHS[name]
    wrapper = hb.make_wrapper(name.partition(",")[0], epsilon=1.0, **settings)
    report = hb.privacy_report(hb.make_batched("CoopNetwork-v0", wrappers=[wrapper], horizon=times, **_GRAPH))
    ours = min(line.epsilon if name == "PrivateMeans" else line.run_epsilon for line in report.lines)
    return ours, law(times).get_epsilon_for_delta(DELTA)


def main():
    """Print the table."""
    heads = [f"{what} of {times}" for times in TIMES for what in ("our ε", "their ε", "ratio")]
    print(f"| mechanism | dp-accounting's law | {' | '.join(heads)} |\n|{'---|' * (2 + len(heads))}")
    for table, composed in ((BLOCKS, on_blocks), (GRAPHS, on_graph)):
        for name, (*_, law) in table.items():
            pairs = [composed(name, times) for times in TIMES]
            cells = [f"{ours:.4g} | {theirs:.4g} | {ours / theirs:.4f}" for ours, theirs in pairs]
            print(f"| {name} | {law} | {' | '.join(cells)} |", flush=True)
    for name in NONE:
        print(f"| {name} | none | {' | '.join(['–'] * len(heads))} |")
