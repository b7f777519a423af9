"""Every hook of a team gets a view of the env: no part of a batch leads to the next one's arms."""

from __future__ import annotations

import numpy as np
import pytest
from bench_helpers import small
from refusals import rows

import hushbandits as hb
from hushbandits.bench.runner.batch import Batch
from hushbandits.bench.runner.check import check
from hushbandits.bench.spec.experiment import Component
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.rollout import rollout
from hushbandits.core.team import EnvView, check_compatible

MET: list[tuple[str, object]] = []
ROUNDS = {"n_agents": 3, "means": [0.1, 0.2, 0.9], "horizon": 4, "permute_arms": True}


class Peeking(hb.Team):
    """Team that keeps all its arguments, and plays the arm that any of them names as the best."""

    setting = "network"
    kept: object = None

    def note(self, hook, env):
        MET.append((hook, env))
        self.kept = self.kept or env

    def requirements(self, settings):
        assert "means" not in settings
        MET.append(("requirements", settings))
        return super().requirements(settings)

    def validate_env(self, env):
        self.note("validate_env", env)

    def runs_at_once(self, env):
        self.note("runs_at_once", env)
        return 2

    def claimed_guarantees(self, env):
        self.note("claimed_guarantees", env)
        return (Guarantee("none", np.inf, 0.0, "one reward", "nobody", (), "here"),)

    def reset(self, env, rng):
        self.note("reset", env)
        self.best = [int(row.argmax()) for row in getattr(self.kept, "means", np.zeros((len(rng), 3)))]

    def act(self, obs):
        return np.tile(np.array(self.best)[:, None], obs.active_agents.shape[1])

    def metrics(self, env):
        MET.append(("metrics", env))
        self.kept = env
        return {"best": env.means.argmax(1), "runs": np.full(env.runs, len(self.best))}


@pytest.fixture(autouse=True)
def met():
    MET.clear()
    return MET


def faces(*hooks):
    assert {hook for hook, _ in MET} == {*hooks}
    for hook, env in MET:
        if hook == "requirements":
            assert set(env) <= {"n_agents", "horizon", "mechanism"}
            continue
        assert type(env) is EnvView
        for name in ("means", "gaps", "locations", "metrics", "reset", "arms"):
            assert not hasattr(env, name), (hook, name)  # `metrics` may read it during the run, not later


def played(team, runs, times, watch=None):
    """Return what a batch of these runs gives."""
    return Batch("", "", "CoopNetwork-v0", team, [], ROUNDS, {}, times, "", 0, runs).play(watch)


def test_every_hook_is_shown_a_face_in_a_batch_of_parts():
    progress = []
    finals, curves, _ = played(Peeking(), range(5), [1, 4], progress.append)
    assert (progress, progress[-1]) == (sorted(progress), 1)
    faces("requirements", "validate_env", "runs_at_once", "reset", "metrics")
    # All pull arm 0, whatever earlier parts have shown; a part's own statements are about its own arms.
    alone = [played(Peeking(), [r], [1, 4]) for r in range(5)]
    assert finals["runs"].tolist() == [2, 2, 2, 2, 1]
    for name in ("regret", "best"):
        np.testing.assert_array_equal(finals[name], np.concatenate([one[0][name] for one in alone]))
    np.testing.assert_array_equal(curves["regret"], np.concatenate([one[1]["regret"] for one in alone]))
    assert len(set(finals["best"])) > 1
    assert finals["regret"].max() > 0


def test_a_game_leaves_no_team_the_arms_of_the_next():
    env, team = hb.make_batched("CoopNetwork-v0", runs=4, **ROUNDS), Peeking()
    first = rollout(env, team, 1)
    again = rollout(env, team, 1)
    np.testing.assert_array_equal(first["regret"], again["regret"])
    assert team.kept is None or type(team.kept) is EnvView
    assert not hasattr(team.kept, "means")


def test_promises_protection_and_check_show_faces():
    env, team = hb.make_batched("CoopNetwork-v0", runs=2, **ROUNDS), Peeking()
    team.guarantees(env)
    hb.privacy_report(env, agent=team)
    check([small(env=Component("CoopNetwork-v0", n_agents=3, horizon=4), agents=[f"{__name__}:Peeking"], sweep={})])
    assert all(type(env) is EnvView for hook, env in MET if hook != "requirements")


@rows("asked", [0, -1, 1.5, np.nan, "all", [2]])
def test_runs_at_once_is_a_number_of_runs(asked):
    class Asks(Peeking):
        def runs_at_once(self, env):
            return asked

    with pytest.raises(ValueError, match=r"runs_at_once of Asks=.* must be an integer ≥ 1"):
        played(Asks(), range(2), [])


def test_an_episode_is_for_what_ships():
    class Fast(Peeking):
        def episode(self, env, until=np.inf):
            return False

    with pytest.raises(ValueError, match=r"Fast must not define episode\(env\)"):
        check_compatible(hb.make_batched("CoopNetwork-v0", **ROUNDS), Fast())
