"""Returned objects are read-only and lead to nothing hidden: inboxes, env views, generators."""

import numpy as np
import pytest
from kinds import one_per_class
from talk import NET, at_talk

import hushbandits as hb
from hushbandits.core.team import EnvView
from hushbandits.wrappers.shuffle import Shuffle

ARM = np.zeros((1, 5), int)


# -- what is handed out -------------------------------------------------------------------------------------------


def test_a_team_that_goes_on_writing_changes_neither_report_nor_state():
    env = hb.make_batched("CoopNetwork-v0", **NET)
    env.reset(0)
    arms, said = np.zeros((1, 5), int), {"arm": np.ones((1, 5), int), "reward": np.ones((1, 5))}
    env.pull(arms)
    arms[:] = 77
    assert (env.communicate().inbox["arm"] == 0).all()
    env.pull(np.zeros((1, 5), int))
    inbox = env.communicate(said).inbox
    said["arm"][:], said["reward"][:] = 77, np.nan
    assert set(inbox["arm"][inbox.arrived]) == {1}
    assert np.isfinite(inbox.tally()[1]).all()


@pytest.mark.parametrize("loss", [0.0, 0.3])
def test_an_inbox_is_over_with_its_round(loss):
    """Otherwise a stored inbox of a shuffler would show a sender in one slot, round after round."""
    env, _ = at_talk(edge_failure_prob=loss, wrappers=[Shuffle()])
    kept = env.communicate().inbox
    kept["reward"]
    env.pull(ARM)
    assert kept["reward"].shape[:2] == (1, 5)
    env.communicate()
    for read in (lambda: kept["reward"], lambda: kept.arrived, kept.tally, lambda: kept.total("reward")):
        with pytest.raises(RuntimeError, match=r"inbox of round 1 .* round 2"):
            read()


# -- the face -----------------------------------------------------------------------------------------------------

HIDDEN = ["metrics", "means", "gaps", "locations", "right", "book", "votes", "recommendation", "spec", "seeds",
          "pull", "communicate", "reset", "outcomes", "crossings", "_means", "privacy"]  # fmt: skip


@pytest.mark.parametrize("env_id", one_per_class(hb.list_envs()))
def test_a_team_fits_a_face_that_hides_what_random_numbers_decided(env_id):
    env = hb.make_batched(env_id)
    env.reset(0)
    face = EnvView(env)
    for name in HIDDEN:
        with pytest.raises(AttributeError, match=f"a team cannot read '{name}' of its env; a team can read: "):
            getattr(face, name)
    for name in dir(face):
        if name == "law" and env_id == "LTR-v0":
            with pytest.raises(AttributeError, match="cannot read the law"):
                getattr(face, name)
            continue
        value = getattr(face, name)
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable
    assert face.horizon == env.horizon
    mechanism = getattr(face, "mechanism", None) if env.setting == "feedback" else None
    if mechanism is not None:
        assert not hasattr(mechanism, "ledger")
        assert not hasattr(mechanism, "_rngs")
