"""Input is validated once, where it enters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import rows
from talk import NET, at_talk, default_action

import hushbandits as hb
from hushbandits.core.wrapper import Wrapper
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle

# -- messages -----------------------------------------------------------------------------------------------------

REWARD = np.zeros((1, 5))


@rows("wrappers", [[], [Loss(0.5)], [Shuffle()], [SecAgg()]])
def test_after_a_bad_message_the_same_phase_goes_on(wrappers):
    env, _ = at_talk(wrappers=wrappers)
    with pytest.raises(ValueError, match="field 'arm' of message holds 3 at run 0, agent 3"):
        env.communicate({"arm": [[0, 0, 0, 3, 0]], "reward": REWARD})
    assert env.communicate().inbox is not None


@pytest.mark.parametrize("wrappers", [[], [Loss(0.5)]], ids=["bare", "loss"])
def test_a_team_with_fields_of_its_own_must_say_them(wrappers):
    env, _ = at_talk(fields={"x": hb.Field()}, wrappers=wrappers)
    assert env.communicate({"x": REWARD}).inbox["x"].shape == (1, 5, 4)


KINDS = st.sampled_from(["i8", "i4", "i1", "u8", "f8", "f4", "?"])


@settings(max_examples=50, deadline=None)
@given(
    kind=KINDS,
    value=st.one_of(
        st.integers(-(2**70), 2**70), st.floats(allow_nan=True, allow_infinity=True), st.booleans(), st.none()
    ),
)
def test_whatever_is_sent_arrives_as_it_is_or_is_refused(kind, value):
    env, _ = at_talk(fields={"x": hb.Field(dtype=kind)}, n_agents=2)
    x = np.full((1, 2), value)
    try:
        heard = env.communicate({"x": x}).inbox["x"]
    except ValueError as error:
        said = str(error)
    else:
        assert np.isfinite(heard.astype(float)).all()
        assert (heard == np.asarray(value, kind)).all()
        return
    assert "field 'x' of message" in said
    assert "\n" not in said


def falls(hook):
    """Return a wrapper's class whose `hook` raises on its first call, in any copy."""

    def falling(self, *args):
        if not type(self).fell:
            type(self).fell = True
            raise OSError("fell")
        return getattr(Wrapper, hook)(self, *args)

    return type("Falls", (Wrapper,), {hook: falling, "fell": False})


@rows("hook", ["alter_own_reward", "send", "deliver"])
@rows("env_id", ["CoopNetwork-v0", "DPMASE-v0", "DistDP-v0"])
def test_a_phase_that_fails_on_its_way_is_not_said_again(env_id, hook):
    def rounds(env):
        env.reset(4)
        for _ in range(3):
            env.pull(default_action(env))
            env.communicate()
        return {name: value.tolist() for name, value in env.metrics().items()}

    kwargs = {"n_agents": 5, "runs": 2, "means": [0.9, 0.1]}
    cls = falls(hook)
    env = hb.make_batched(env_id, wrappers=[Loss(0.5), cls()], **kwargs)
    with pytest.raises(OSError, match="fell"):
        rounds(env)
    for phase in (lambda: env.pull(default_action(env)), env.communicate, lambda: env.reset(1, rows=[0])):
        with pytest.raises(RuntimeError, match=r"after a phase that raised an error: call reset\(seeds\)"):
            phase()
    assert rounds(env) == rounds(hb.make_batched(env_id, wrappers=[Loss(0.5), cls()], **kwargs))


# -- plain agents -------------------------------------------------------------------------------------------------


PLAIN = {
    "CoopNetwork-v0": (0, [None, 1.7, np.nan, "a", True, 3, -1, [0], np.array([0]), 2**80]),
    "DPMASE-v0": (np.ones(3, bool), [None, 1, [1, 0, 1], np.ones(4, bool), np.full(3, np.nan)]),
    "CentralDP-v0": ((0, 4), [None, 1, (0, -1), (3, 1), (0.5, 1), (1, 2, 3), (0, 2**70)]),
}
CASES = [(id, bad) for id, (_, bads) in PLAIN.items() for bad in bads]


@rows(("env_id", "bad"), CASES)
def test_a_plain_agents_bad_act_names_agent_round_and_run(env_id, bad):
    good = PLAIN[env_id][0]
    asked = []

    class Plain:
        blind = True

        def __init__(self, m, rng):
            self.rounds = 0

        def act(self, t):
            asked.append(t)
            self.rounds += 1
            return bad if self.rounds == 2 else good

    kwargs = {"n_agents": 3 if "Network" in env_id else 1, "means": [0.9, 0.5, 0.1], "horizon": 50}
    with pytest.raises(ValueError, match=r"agent 0 of Plain in round \d+ of run 0: act must return") as caught:
        hb.rollout(hb.make_batched(env_id, **kwargs), hb.PerAgent(Plain))
    assert f"in round {asked[-1]} of" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_server_whose_users_are_used_up_may_ask_for_none():
    class Plain:
        blind = True

        def __init__(self, m, rng):
            self.left, self.size = 9, 1 + 2 * m

        def act(self, t):
            n = min(self.size, self.left)
            self.left -= n
            return 0, n

    env = hb.make_batched("CentralDP-v0", n_agents=2, means=[0.9, 0.5], horizon=9)
    assert hb.rollout(env, hb.PerAgent(Plain))["users"][0] == 18


@rows(("words", "error"), [
    ({"val": 0.5}, "has an undeclared field 'val'"),
    ({"rewrad": 0.5}, "has an undeclared field 'rewrad'; did you mean reward"),
    ({"reward": [0.5, 0.5]}, r"field 'reward' .* must be numbers of shape \(\), not float64 \(2,\)"),
    ({"reward": np.nan}, "field 'reward' .* holds nan"),
    ({"reward": "x"}, "field 'reward' .* must be numbers"),
    ({"arm": 3}, "field 'arm' .* holds 3"),
    ({"arm": 1.0}, "field 'arm' .* must be integers"),
    (0.5, "must be a dict of arrays by field, not float"),
])  # fmt: skip
def test_a_plain_agents_bad_words_name_agent_round_and_run(words, error):
    class Plain:
        def __init__(self, m, rng):
            self.m = m

        def act(self, t):
            self.t = t
            return 0

        def compose(self, reward):
            return words if (self.m, self.t) == (3, 2) else None

    with pytest.raises((TypeError, ValueError), match=error) as caught:
        hb.rollout(hb.make_batched("CoopNetwork-v0", runs=2, **NET), hb.PerAgent(Plain))
    assert "agent 3 of Plain in round 2 of run 0" in str(caught.value)


# -- seeds ----------------------------------------------------------------------------------------------------


def test_after_a_reset_that_failed_nothing_goes_on():
    """Otherwise a phase would combine the state of one run with the sizes of another."""
    env = hb.make_batched("CoopNetwork-v0", n_agents=9, graph="erdos-renyi", edge_probability=0.4, runs=2)
    env.reset(0)
    env.pull(np.zeros((2, 9), int))
    env.edge_probability = 1e-9
    with pytest.raises(ValueError, match="gave no connected graph"):
        env.reset(hb.spawn_seeds(0, 5))
    for phase in (env.communicate, lambda: env.pull(np.zeros((2, 9), int))):
        with pytest.raises(RuntimeError, match="before the start: call reset"):
            phase()
