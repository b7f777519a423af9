"""Linear bandits: files of features, and the error of inverses that change by rank one."""

import numpy as np
from refusals import refused

import hushbandits as hb
from hushbandits.estimators.ridge import Ridge


def test_features_of_a_file_are_played_and_bad_ones_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    vectors = np.random.default_rng(0).normal(size=(6, 3))
    np.save("v.npy", vectors)
    np.savetxt("v.csv", vectors, delimiter=",", fmt="%.17g")
    given = {"n_arms": 4, "n_features": 3, "horizon": 30}
    for name in ("v.npy", "v.csv"):
        env = hb.make_batched("FedLinear-v0", contexts=name, **given)
        env.reset(0)
        shown = {tuple(x) for x in env.features[0, 0].tolist()}
        assert len(shown) == 4
        assert shown <= {tuple(x) for x in vectors.tolist()}
    np.save("complex.npy", vectors * 1j)
    bad = {
        "nan.csv": ("1,nan,0", "row 0", "nan"), "word.txt": ("1 2 a", "'a'"), "empty.txt": ("",),
        "few.txt": ("1 2 3", "n_arms=4"), "narrow.txt": ("1 2\n3 4\n5 6\n7 8", "n_features=3"),
    }  # fmt: skip
    for name, (text, *_) in bad.items():
        (tmp_path / name).write_text(text)
    words = {name: said for name, (_, *said) in bad.items()} | {"complex.npy": (), "nowhere.npy": ()}
    call = lambda name: lambda: hb.make_batched("FedLinear-v0", contexts=name, **given)  # noqa: E731
    refused(ValueError, {name: (call(name), "contexts", name, *said) for name, said in words.items()})
    far = lambda: hb.make_batched("FedLinear-v0", contexts="v.npy", rewards="bernoulli", **given)  # noqa: E731
    refused(ValueError, [(far, "rewards", "[0, 1]")])


def test_inverses_stay_exact_over_many_pulls():
    """After 30,000 updates by rank one the error is that of rounding; a lost update would make it 10⁻⁴."""
    rng, d, n = np.random.default_rng(1), 15, 30_000
    x, ridge, who = rng.uniform(-1, 1, (n, d)) / np.sqrt(d), Ridge(1, 1, d, 1.0), np.zeros((1, 1), int)
    for row in x:
        ridge.add(who, row[None, None], np.ones((1, 1)))
    v = np.eye(d) + x.T @ x
    assert np.abs(v @ ridge.inverse[0, 0] - np.eye(d)).max() < 1e-12
    np.testing.assert_allclose(ridge.volume[0, 0], np.linalg.slogdet(v)[1], rtol=1e-12)
    np.testing.assert_allclose(ridge.theta[0, 0], np.linalg.solve(v, x.sum(0)), atol=1e-12)
