"""Learning-to-rank files as bandits."""

import logging
import os

import numpy as np
import pytest
from helpers import build, cursors
from homes import ELSEWHERE
from hypothesis import given
from hypothesis import strategies as st

import hushbandits as hb
from hushbandits.envs.feedback import ltr
from hushbandits.envs.feedback.ltr import Relevance, k_means, read_svmlight
from hushbandits.envs.feedback.pooled_users import Pooled

GOOD = ["3 qid:1 1:0.5 2:1", "", "# a comment", "0 qid:2 2:-1e-3 # another", "1 3:2"]


def test_a_good_file_is_read():
    relevance, features = read_svmlight(GOOD)
    assert relevance.tolist() == [3, 0, 1]
    np.testing.assert_allclose(features, [[0.5, 1, 0], [0, -1e-3, 0], [0, 0, 2]])


def test_an_empty_or_missing_file_is_an_error(tmp_path):
    (tmp_path / "empty.txt").write_text("# nothing\n")
    with pytest.raises(ValueError, match="has no rows"):
        hb.make_batched("LTR-v0", path=tmp_path / "empty.txt")
    with pytest.raises(ValueError, match="is not a file"):
        hb.make_batched("LTR-v0", path=tmp_path / "gone.txt")


def test_more_arms_than_distinct_rows_are_refused(tmp_path):
    path = tmp_path / "few.txt"
    path.write_text("1 1:1\n2 1:1\n3 1:2\n")
    with pytest.raises(ValueError, match=r"n_arms=3"):
        hb.make_batched("LTR-v0", path=path, n_arms=3)
    with pytest.raises(ValueError, match=r"n_arms=50"):  # the paper's K
        hb.make_batched("LTR-v0", path=path)


def test_k_means_finds_clusters_and_leaves_none_empty():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(6, 3)) * 20
    truth = rng.integers(6, size=300)
    own = k_means(centres[truth] + rng.normal(size=(300, 3)) * 0.1, 6)
    assert len({(t, o) for t, o in zip(truth, own, strict=True)}) == 6
    crowded = np.concatenate([np.zeros((50, 2)), rng.random((5, 2)) * 1e-6])
    assert len(np.unique(k_means(crowded, 5))) == 5
    np.testing.assert_array_equal(k_means(crowded, 5, seed=3), k_means(crowded, 5, seed=3))


@pytest.mark.parametrize("seed", range(4))
def test_k_means_ends_where_every_row_is_nearest_to_its_own_centre(seed):
    x = np.random.default_rng(seed).normal(size=(400, 2))
    own = k_means(x, 7, seed)
    centres = np.array([x[own == k].mean(0) for k in range(7)])
    np.testing.assert_array_equal(((x[:, None] - centres) ** 2).sum(2).argmin(1), own)


def test_the_cluster_seed_seeds_the_clusters_and_the_run_s_does_not():
    means = []
    for cluster_seed, seed in ((0, 0), (0, 1), (1, 0)):
        env = hb.make_batched("LTR-v0", cluster_seed=cluster_seed, runs=2, permute_arms=False)
        env.reset(seed)
        np.testing.assert_array_equal(env.means[0], env.means[1])
        means.append(env.means[0])
    np.testing.assert_array_equal(means[0], means[1])
    assert not np.array_equal(means[0], means[2])


def test_arms_are_clusters_and_rewards_relevance(tmp_path):
    path = tmp_path / "two.txt"
    path.write_text("\n".join([f"{r} qid:1 1:{x}" for r, x in ((4, 0), (4, 0.1), (2, 0.05), (0, 9), (1, 9.1))]))
    env = hb.make_batched("LTR-v0", path=path, n_arms=2, runs=400, simulate_users="individual", permute_arms=False)
    env.reset(0)
    assert sorted(env.means[0].tolist()) == pytest.approx([0.125, 10 / 12])
    arm = int(env.means[0].argmax())
    env.pull((np.full((400, 1), arm), np.full((400, 1), 30)))
    rewards = env.communicate().inbox["users"]
    assert set(np.unique(rewards)) == {0.5, 1.0}
    assert abs(rewards.mean() - 10 / 12) < 6 * rewards.std() / np.sqrt(rewards.size)


def test_the_law_of_an_encoded_relevance():
    law = Relevance(np.array([[0.2, 0.1, 0.3, 0.0, 0.4], [0, 1.0, 0, 0, 0]]))
    x = law.quantile((np.arange(10_000) + 0.5) / 10_000, np.array(0))
    for g in (1, 3, 8):
        by_hand = [np.maximum(1 - np.abs(x * g - j), 0).mean() for j in range(g + 1)]
        np.testing.assert_allclose(law.rounding(0, g), by_hand, atol=1e-9)
    pool = Pooled(np.array([[50_000]]), law, np.array([[1.0]]), cursors(1)).encode(np.array([[4]]), [])
    assert pool.total().item() == 50_000


def test_the_shipped_file_says_what_it_is(caplog):
    ltr._shipped.cache_clear()
    ltr.clusters.cache_clear()
    with caplog.at_level(logging.WARNING, "hushbandits"):
        env = hb.make_batched("LTR-v0")
    assert "not a real data set" in caplog.text
    assert "made-up" in env.source
    assert env.n_arms == 10


#: Agents that eliminate arms behind a mechanism, and its env.
ELIMINATE = [(home.agent, home.env_id) for home in ELSEWHERE if home.agent.endswith(("DP-SE", "SDP-AE"))]


@pytest.mark.parametrize(("agent", "id"), ELIMINATE)
def test_agents_bring_their_protocol(agent, id):
    given = {"epsilon": 5.0, "confidence": 0.2}
    brought, _ = build("LTR-v0", agent, 1, {}, given)
    own, _ = build(id, agent, 1, {}, given)
    assert [repr(w) for w in brought.wrappers] == [repr(w) for w in own.wrappers]
    results = hb.evaluate("LTR-v0", agent, runs=2, env={"horizon": 3000}, agent_kwargs={"epsilon": 5.0})
    assert results.final("users").tolist() == [3000, 3000]
    if agent in ("Dist-RDP-SE", "Dist-CDP-SE"):  # stated at δ
        assert (results.final("epsilon") > 5.0).all()
        assert np.isfinite(results.final("epsilon")).all()
    else:
        assert results.final("epsilon").tolist() == [5.0, 5.0]


def test_a_table_that_would_not_fit_is_refused_before_room_is_made(monkeypatch):
    monkeypatch.setattr(ltr, "_MOST", 100)
    with pytest.raises(ValueError, match="file: 11 rows of 10 features exceed the limit of 100 values"):
        read_svmlight(["0 10:1"] * 11)
    assert read_svmlight(["0 10:1"] * 10)[1].shape == (10, 10)


_TOKENS = st.sampled_from(
    ["0", "4", "5", "qid:1", "qid:", "1:1", "2:0.5", "1:", ":", "1:1:1", "#", "1:1e5", "\x00", "²:1"]
)


@given(st.lists(st.lists(_TOKENS | st.text(max_size=6), max_size=4).map(" ".join), max_size=5))
def test_any_line_is_read_or_refused_in_a_sentence(lines):
    said = ""
    try:
        relevance, features = read_svmlight(lines)
        assert len(relevance) == len(features)
        assert np.isfinite(features).all()
    except ValueError as error:
        said = str(error)
    assert "\n" not in said
    assert said == "" or said == "file has no rows" or said.startswith("file, line ")


@given(st.binary(max_size=60))
def test_any_file_is_read_or_refused_in_a_sentence(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("ltr") / "x.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"line|no rows|n_arms") as error:
        hb.make_batched("LTR-v0", path=path, n_arms=1000)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("small", [True, False])
def test_an_edit_that_keeps_times_and_size_is_seen(tmp_path, monkeypatch, small):
    monkeypatch.setattr(ltr, "_SMALL", 2**25 if small else 1)
    monkeypatch.setattr(ltr, "_SAMPLE", 8)
    path = tmp_path / "mine.txt"
    path.write_text("0 1:0\n4 1:9\n" * 20)
    about = path.stat()
    before = hb.make_batched("LTR-v0", path=path, n_arms=2)
    with path.open("r+") as file:
        file.write("3")
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (about.st_size, about.st_mtime_ns)
    after = hb.make_batched("LTR-v0", path=path, n_arms=2)
    for env in (before, after):
        env.reset(0)
    assert sorted(before.means[0].tolist()) == [0, 1]
    assert sorted(after.means[0].tolist()) == pytest.approx([0.75 / 20, 1])
