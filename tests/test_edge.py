"""What comes in from outside is checked once, where it enters; what is handed out leads to nothing hidden."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushbandits as hb
from hushbandits.core.face import Face
from hushbandits.core.messages import LARGEST
from hushbandits.core.tapes import own_stream, run_seeds, stream
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.feedback import Feedback
from hushbandits.wrappers.huber import Huber
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle

NET = {"n_agents": 5, "graph": "complete", "means": [0.9, 0.5, 0.1]}


def at_talk(env_id="CoopNetwork-v0", seed=0, **kwargs):
    env = hb.make_vec(env_id, **{**(NET if env_id == "CoopNetwork-v0" else {}), **kwargs})
    env.reset(seed)
    return env, env.pull(default_action(env))


def default_action(env):
    shape = env.who.shape
    if env.setting == "exploration":
        return np.ones((*shape, env.n_arms), bool)
    return np.zeros(shape, int) if env.setting == "network" else (np.zeros(shape, int), np.full(shape, 8))


# -- messages -------------------------------------------------------------------------------------------------------

ARM, REWARD = np.zeros((1, 5), int), np.zeros((1, 5))


def but(array, value):
    out = np.array(array, np.result_type(array, type(value)))
    out[0, 3] = value
    return out


@pytest.mark.parametrize(("message", "error"), [
    ({"arm": but(ARM, 3), "reward": REWARD}, "field 'arm' of message holds 3 at run 0, agent 3; allowed are integers in 0..2"),
    ({"arm": but(ARM, -1), "reward": REWARD}, "field 'arm' of message holds -1 at run 0, agent 3"),
    ({"arm": but(ARM, 2**62), "reward": REWARD}, "field 'arm' of message holds 4611686018427387904"),
    ({"arm": but(ARM, 1.7), "reward": REWARD}, r"field 'arm' of message must be integers of shape \(1, 5\), not float64 \(1, 5\)"),
    ({"arm": ARM.astype(bool), "reward": REWARD}, "field 'arm' of message must be integers"),
    ({"arm": ARM[0], "reward": REWARD}, r"field 'arm' of message must be integers of shape \(1, 5\), not int64 \(5,\)"),
    ({"arm": None, "reward": REWARD}, "field 'arm' of message must be integers"),
    ({"arm": ARM, "reward": but(REWARD, np.nan)}, "field 'reward' of message holds nan at run 0, agent 3; allowed are numbers"),
    ({"arm": ARM, "reward": but(REWARD, np.inf)}, "field 'reward' of message holds inf"),
    ({"arm": ARM, "reward": but(REWARD, -1e300)}, r"holds -1e\+300 at run 0, agent 3; allowed are numbers in -1e\+100..1e\+100"),
    ({"arm": ARM, "reward": REWARD.astype(complex)}, "field 'reward' of message must be numbers"),
    ({"arm": ARM, "reward": [[1], [2, 3]]}, "field 'reward' of message must be numbers of shape"),
    ({"arm": ARM}, "message has no field 'reward'; it has: arm"),
    ({"arm": ARM, "reward": REWARD, "rewrad": REWARD}, "has a field 'rewrad' that nobody declared; did you mean reward"),
    ({"arm": ARM, "reward": REWARD, "sent": ARM}, r"field 'sent' of message must be bools of shape \(1, 5\), not int64"),
])  # fmt: skip
@pytest.mark.parametrize(
    "wrappers", [[], [Loss(0.5)], [Shuffle()], [SecAgg()]], ids=["bare", "loss", "shuffle", "secagg"]
)
def test_a_bad_message_is_one_sentence_and_nothing_happens(message, error, wrappers):
    env, _ = at_talk(wrappers=wrappers)
    with pytest.raises(ValueError, match=error) as caught:
        env.talk(message)
    assert "\n" not in str(caught.value)
    assert env.talk().inbox is not None  # the same beat goes on


@pytest.mark.parametrize("message", [[], 3, "vote", np.zeros((1, 5))])
def test_a_message_is_a_dict(message):
    env, _ = at_talk()
    with pytest.raises(TypeError, match="message must be a dict of arrays by field"):
        env.talk(message)


@pytest.mark.parametrize(
    "vote", [np.ones((1, 1, 3), int), np.ones((1, 3), bool), np.ones((1, 2, 3), bool), None, [[[1, 2], 3]]]
)
def test_votes_are_bools_of_every_arm(vote):
    env, _ = at_talk("DPMASE-v0", means=[0.9, 0.5, 0.1])
    with pytest.raises(ValueError, match=r"field 'vote' of message must be bools of shape \(1, 1, 3\)"):
        env.talk({"vote": vote})
    assert env.metrics()["messages"][0] == 0


def test_in_feedback_servers_have_nothing_to_say():
    env, _ = at_talk("DistDP-v0")
    with pytest.raises(ValueError, match="users speak, not servers"):
        env.talk({"reward": np.zeros((1, 1)), "n": np.zeros((1, 1), int)})


def test_an_own_field_that_is_named_like_the_report_keeps_its_range():
    env, _ = at_talk(speech={"arm": hb.Field(dtype="i8"), "reward": hb.Field()})
    with pytest.raises(ValueError, match="field 'arm' of message holds 3"):
        env.talk({"arm": but(ARM, 3), "reward": REWARD})
    for field in (hb.Field(), hb.Field((2,), "i8")):
        with pytest.raises(ValueError, match=r"speech\['arm'\] must be declared as in the standard report"):
            hb.make_vec("CoopNetwork-v0", speech={"arm": field, "reward": hb.Field()}, **NET)
    with pytest.raises(ValueError, match=r"speech\['who'\].*not be named sent or who"):
        hb.make_vec("CoopNetwork-v0", speech={"who": hb.Field()}, **NET)


@pytest.mark.parametrize(
    "kwargs", [{"dtype": "object"}, {"dtype": "U3"}, {"dtype": "nonsense"}, {"shape": (-1,)}, {"shape": 3}]
)
def test_a_field_is_bits_integers_or_floats(kwargs):
    with pytest.raises(ValueError, match="of a field must be"):
        hb.Field(**kwargs)


KINDS = st.sampled_from(["i8", "i4", "i1", "u8", "f8", "f4", "?"])


@settings(max_examples=150, deadline=None)
@given(
    kind=KINDS,
    value=st.one_of(
        st.integers(-(2**70), 2**70), st.floats(allow_nan=True, allow_infinity=True), st.booleans(), st.none()
    ),
)
def test_whatever_is_sent_arrives_as_it_is_or_is_refused(kind, value):
    env, _ = at_talk(speech={"x": hb.Field(dtype=kind)}, n_agents=2)
    x = np.full((1, 2), value)
    try:
        heard = env.talk({"x": x}).inbox["x"]
    except ValueError as error:
        assert "field 'x' of message" in str(error)
        assert "\n" not in str(error)
        return
    assert np.isfinite(heard.astype(float)).all()
    assert (heard == np.asarray(value, kind)).all()


# -- strangers' wrappers ----------------------------------------------------------------------------------------------


class Stranger(Wrapper):
    def __init__(self, change):
        super().__init__()
        self._change = change

    def send(self, message, env):
        return self._change(message)


@pytest.mark.parametrize(("change", "error"), [
    (lambda m: {**m, "arm": m["arm"] + 99}, "field 'arm' of message behind Stranger holds 99"),
    (lambda m: {**m, "reward": m["reward"] * np.nan}, "field 'reward' of message behind Stranger holds nan"),
    (lambda m: {**m, "reward": m["reward"][0]}, r"must be numbers of shape \(1, 5\), not float64 \(5,\)"),
    (lambda m: {"arm": m["arm"]}, "message behind Stranger has no field 'reward'"),
    (lambda m: {"arm": m["arm"], "reward": m["reward"]}, "message behind Stranger has no field 'sent'"),
])  # fmt: skip
@pytest.mark.parametrize("behind", [[], [SecAgg()], [Loss(0.1), Shuffle()]], ids=["last", "secagg", "shuffle"])
def test_what_a_strangers_wrapper_sends_is_checked_too(change, error, behind):
    env, _ = at_talk(wrappers=[Stranger(change), *behind])
    with pytest.raises(ValueError, match=error):
        env.talk()


@pytest.mark.parametrize("change", [lambda m: None, lambda m: {**m, "reward": np.zeros((1, 1))}])
def test_a_strangers_wrapper_sends_a_crowd_in_feedback(change):
    env, _ = at_talk("DistDP-v0", wrappers=[Stranger(change)])
    with pytest.raises((TypeError, ValueError), match="message behind Stranger must be a dict"):
        env.talk()


def test_a_stranger_in_place_changes_nothing_that_is_not_its_own():
    def double(message):
        message["reward"] *= 2
        return message

    env, obs = at_talk(wrappers=[Stranger(double)], rewards="beta")
    with pytest.raises(ValueError, match="read-only"):
        env.talk()
    own = np.full((1, 5), 0.25)
    inbox = env.talk({"arm": ARM, "reward": own}).inbox
    assert (own == 0.25).all()
    assert set(inbox["reward"][inbox.arrived]) == {0.5}


# -- what is handed out ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", hb.list_envs())
def test_what_the_env_goes_by_is_handed_out_read_only(env_id):
    env = hb.make_vec(env_id, runs=2, **({} if "LTR" in env_id else {"horizon": 50}))
    first = env.reset(0)
    second = env.pull(
        default_action(env)
        if not getattr(env, "single", False)
        else np.eye(1, env.n_arms, dtype=bool)[None].repeat(2, 0)
    )
    for obs in (first, second, env.talk()):
        for name in ("t", "live", "who", "reward"):
            value = getattr(obs, name)
            if value is not None:
                with pytest.raises(ValueError, match="read-only"):
                    value[...] = 0


def test_a_team_that_goes_on_writing_changes_neither_report_nor_state():
    env = hb.make_vec("CoopNetwork-v0", **NET)
    env.reset(0)
    arms, said = np.zeros((1, 5), int), {"arm": np.ones((1, 5), int), "reward": np.ones((1, 5))}
    env.pull(arms)
    arms[:] = 77
    assert (env.talk().inbox["arm"] == 0).all()
    env.pull(np.zeros((1, 5), int))
    inbox = env.talk(said).inbox
    said["arm"][:], said["reward"][:] = 77, np.nan
    assert set(inbox["arm"][inbox.arrived]) == {1}
    assert np.isfinite(inbox.tally()[1]).all()


def test_an_old_observation_stays_what_it_was():
    env, team = hb.make_vec("DPMASE-v0", n_agents=4, means=[0.9, 0.1], horizon=5), hb.make_team("Random")
    obs = first = env.reset(0)
    team.reset(Face(env), env.seeds)
    while obs.live.any():
        obs = env.talk(team.speak(env.pull(team.act(obs)).reward))
    assert first.live.all()
    assert (first.t == 0).all()


PUBLIC = {"arrived", "at", "fields", "of", "own", "tally", "total"}
INBOXES = {
    "slots": ("CoopNetwork-v0", NET, []),
    "shuffled": ("CoopNetwork-v0", NET, [Shuffle()]),
    "flood": ("CoopNetwork-v0", {**NET, "edge_loss": 0.1}, []),
    "shuffled flood": ("CoopNetwork-v0", {**NET, "edge_loss": 0.1}, [Shuffle()]),
    "sums": ("CoopNetwork-v0", NET, [SecAgg()]),
    "block": ("DistDP-v0", {}, []),
    "users": ("CentralDP-v0", {"users": "each"}, []),
    "votes": ("DPMASE-v0", {}, []),
    "window": ("DPMASE-v0", {}, [SecAgg(window=5)]),
}


@pytest.mark.parametrize("case", INBOXES)
def test_no_public_name_of_an_inbox_leads_behind_it(case):
    env_id, kwargs, wrappers = INBOXES[case]
    inbox = at_talk(env_id, wrappers=wrappers, **kwargs)[0].talk().inbox
    assert {name for name in dir(inbox) if not name.startswith("_")} <= PUBLIC | {"decoded"}
    with pytest.raises(AttributeError):
        inbox.fields = (*inbox.fields, "who")
    for field in ("who", "code", "users", "ring", "sent"):
        if field not in inbox.fields:
            with pytest.raises((KeyError, ValueError)):
                inbox[field]
            with pytest.raises((KeyError, ValueError)):
                inbox.total(field)


@pytest.mark.parametrize("loss", [0.0, 0.3])
def test_an_inbox_is_over_with_its_round(loss):
    """Else a shuffled one, kept, would show one sender in one slot round after round."""
    env, _ = at_talk(edge_loss=loss, wrappers=[Shuffle()])
    kept = env.talk().inbox
    kept["reward"]
    env.pull(ARM)
    assert kept["reward"].shape[:2] == (1, 5)
    env.talk()
    for read in (lambda: kept["reward"], lambda: kept.arrived, kept.tally, lambda: kept.total("reward")):
        with pytest.raises(RuntimeError, match="inbox is that of round 1, and it is round 2"):
            read()


# -- plain agents ----------------------------------------------------------------------------------------------------


PLAIN = {
    "CoopNetwork-v0": (0, [None, 1.7, np.nan, "a", True, 3, -1, [0], np.array([0]), 2**80]),
    "DPMASE-v0": (np.ones(3, bool), [None, 1, [1, 0, 1], np.ones(4, bool), np.full(3, np.nan)]),
    "CentralDP-v0": ((0, 4), [None, 1, (0, 0), (3, 1), (0.5, 1), (1, 2, 3), (0, 2**70)]),
}
CASES = [(id, bad) for id, (_, bads) in PLAIN.items() for bad in bads]


@pytest.mark.parametrize(("env_id", "bad"), CASES)
def test_a_plain_agents_bad_act_names_agent_round_and_run(env_id, bad):
    good = PLAIN[env_id][0]
    asked = []

    class Plain:
        def __init__(self, m, rng):
            self.rounds = 0

        def act(self, t):
            asked.append(t)
            self.rounds += 1
            return bad if self.rounds == 2 else good

    kwargs = {"n_agents": 3 if "Network" in env_id else 1, "means": [0.9, 0.5, 0.1], "horizon": 50}
    with pytest.raises(ValueError, match=r"agent 0 of Plain in round \d+ of run 0: act must return") as caught:
        hb.play(hb.make_vec(env_id, **kwargs), hb.Each(Plain))
    assert f"in round {asked[-1]} of" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("words", "error"), [
    ({"val": 0.5}, "speak returns a field 'val'; known: arm, reward"),
    ({"rewrad": 0.5}, "speak returns a field 'rewrad'; did you mean reward"),
    ({"reward": [0.5, 0.5]}, r"says in field 'reward' must be numbers of shape \(\), not float64 \(2,\)"),
    ({"reward": np.nan}, "says in field 'reward' holds nan"),
    ({"reward": "x"}, "says in field 'reward' must be numbers"),
    ({"arm": 3}, "says in field 'arm' holds 3; allowed are integers in 0..2"),
    ({"arm": 1.0}, "says in field 'arm' must be integers"),
    (0.5, "speak must return None or a dict of arm, reward, not 0.5"),
])  # fmt: skip
def test_a_plain_agents_bad_words_name_agent_round_and_run(words, error):
    class Plain:
        def __init__(self, m, rng):
            self.m = m

        def act(self, t):
            self.t = t
            return 0

        def speak(self, reward):
            return words if (self.m, self.t) == (3, 2) else None

    with pytest.raises(ValueError, match=error) as caught:
        hb.play(hb.make_vec("CoopNetwork-v0", runs=2, **NET), hb.Each(Plain))
    assert "agent 3 of Plain in round 2 of run 0" in str(caught.value)


def test_a_plain_agents_generator_knows_nothing_of_the_run():
    seed = run_seeds(5, 1)[0]
    one, two = own_stream(seed, "agent/A/0"), own_stream(seed, "agent/A/1")
    np.testing.assert_array_equal(one.random(9), stream(seed, "agent/A/0").random(9))
    for rng in (one, two):
        ancestry = rng.bit_generator.seed_seq
        assert ancestry.entropy != seed.entropy
        assert ancestry.spawn_key == ()
        for name in ("reward", "wrapper/Huber", "agent/A/1"):
            assert stream(ancestry, name).random() != stream(seed, name).random()
    assert one.spawn(1)[0].random() != two.spawn(1)[0].random()
    assert (
        own_stream(run_seeds(5, 2)[1], "agent/A/0").spawn(1)[0].random()
        != own_stream(seed, "agent/A/0").spawn(1)[0].random()
    )


# -- the face --------------------------------------------------------------------------------------------------------

HIDDEN = ["metrics", "means", "gaps", "locations", "right", "book", "votes", "recommendation", "recipe", "seeds", "pull",
          "talk", "reset", "outcomes", "crossings", "served", "_means", "privacy"]  # fmt: skip


@pytest.mark.parametrize("env_id", hb.list_envs())
def test_a_team_meets_a_face_that_hides_what_luck_decided(env_id):
    env = hb.make_vec(env_id)
    env.reset(0)
    face = Face(env)
    for name in HIDDEN:
        with pytest.raises(AttributeError, match=f"a team does not see '{name}' of its env; it sees: "):
            getattr(face, name)
    for name in dir(face):
        if name == "law" and env_id == "LTR-v0":
            with pytest.raises(AttributeError, match="holds what the arms are"):
                face.law
            continue
        value = getattr(face, name)
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable
    assert face.horizon == env.horizon
    mechanism = getattr(face, "mechanism", None) if env.setting == "feedback" else None
    if mechanism is not None:
        assert not hasattr(mechanism, "ledger")
        assert not hasattr(mechanism, "_rngs")


def test_play_hands_out_faces_only():
    met = []

    class Curious(hb.Team):
        def reset(self, env, seeds):
            met.append(env)

        def act(self, obs):
            return np.zeros(obs.who.shape, int)

    hb.play(hb.make_vec("CoopNetwork-v0", horizon=2), Curious())
    assert type(met[0]) is Face


# -- secure aggregation --------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(arms=st.lists(st.integers(0, 2), min_size=5, max_size=5), cohort=st.integers(2, 4), seed=st.integers(0, 99))
def test_an_arm_that_few_report_looks_like_one_that_nobody_does(arms, cohort, seed):
    env = hb.make_vec("CoopNetwork-v0", rewards="beta", wrappers=[SecAgg(cohort)], **NET)
    env.reset(seed)
    env.pull(np.array([arms]))
    inbox = env.talk().inbox
    pulls, sums = inbox.tally()
    for m in range(5):
        for k in range(3):
            others = sum(arms[w] == k for w in range(5) if w != m)
            assert pulls[0, m, k] == (others if others >= cohort else 0)
            assert (sums[0, m, k] != 0) == (others >= cohort)
    np.testing.assert_array_equal(inbox.arrived[..., 0], (pulls > 0).any(2))


@pytest.mark.parametrize(("env_id", "kwargs", "wrapper"), [
    ("CoopNetwork-v0", {}, {"grid": 2**30, "bound": 2**29}),
    ("CoopNetwork-v0", {"n_agents": 3}, {"grid": 2**30, "bound": 1e90}),
    ("CoopNetwork-v0", {"graph": "erdos-renyi"}, {"grid": 2**30, "bound": 2**27}),
    ("CoopNetwork-v0", {"edge_loss": 0.1}, {"grid": 2**30, "bound": 2**27}),
])  # fmt: skip
def test_sums_that_would_wrap_are_refused_when_env_and_wrapper_meet(env_id, kwargs, wrapper):
    with pytest.raises(ValueError, match=r"SecAgg with grid=1073741824.*sums must stay below 2\^62") as caught:
        hb.make_vec(env_id, wrappers=[SecAgg(**wrapper)], **{**NET, **kwargs})
    assert "\n" not in str(caught.value)


def test_a_block_too_large_for_the_grid_is_refused_when_env_and_wrapper_meet():
    with pytest.raises(ValueError, match="a block of n users up to horizon 9000000000 adds up to"):
        Feedback(horizon=9 * 10**9, wrappers=[SecAgg(grid=2**30)])
    env = Feedback(horizon=9 * 10**9, rewards="bernoulli", means=[0.5, 0.6], wrappers=[SecAgg()])
    env.reset(0)
    env.pull((np.array([[0]]), np.array([[9 * 10**9]])))
    assert abs(env.talk().inbox.total("reward")[0, 0] / 9e9 - 0.5) < 1e-3


@settings(max_examples=40, deadline=None)
@given(
    grid=st.integers(0, 30).map(lambda b: 2**b),
    bound=st.floats(0.01, 1e12),
    m=st.integers(3, 6),
    sign=st.sampled_from([-1, 1]),
)
def test_what_is_not_refused_does_not_wrap(grid, bound, m, sign):
    try:
        env = hb.make_vec("CoopNetwork-v0", wrappers=[SecAgg(grid=grid, bound=bound)], **{**NET, "n_agents": m})
    except ValueError:
        return
    env.reset(0)
    env.pull(np.zeros((1, m), int))
    sums = env.talk({"arm": np.zeros((1, m), int), "reward": np.full((1, m), sign * bound)}).inbox.tally()[1]
    exact = (m - 1) * np.rint(sign * bound * grid) / grid
    np.testing.assert_allclose(sums[0, :, 0], exact, rtol=1e-12)


@pytest.mark.parametrize("location", [1.5, -3.0, 1e90])
def test_a_far_contamination_does_not_pass_the_bound_and_is_not_printed(location):
    env, _ = at_talk(wrappers=[Huber(1.0, law="constant", location=location), SecAgg()])
    with pytest.raises(ValueError, match=r"up to bound=1, and agent 0 of run 0 reports a larger one") as caught:
        env.talk()
    assert f"{location:g}" not in str(caught.value)


# -- sizes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("env_id", "kwargs", "error"), [
    ("CoopNetwork-v0", {"n_agents": 10**6, "graph": "complete"}, "n_agents=1000000 on graph=complete would take"),
    ("CoopNetwork-v0", {"n_agents": 10**6}, "n_agents=1000000 on graph=cycle would take"),
    ("CoopNetwork-v0", {"n_agents": 10**5, "graph": "erdos-renyi"}, "n_agents=100000 on graph=erdos-renyi would take"),
    ("CoopNetwork-v0", {"extra_delay": 10**9}, "extra_delay=1000000000 over 8 hops would take"),
    ("CoopNetwork-v0", {"runs": 10**9}, "runs=1000000000 of n_agents=16 and n_arms=10 would take"),
    ("CoopNetwork-v0", {"n_arms": 10**9, "means": hb.UniformMeans()}, "n_arms=1000000000 would take"),
    ("DPMASE-v0", {"n_agents": 10**9}, "n_agents=1000000000 and n_arms=10 would take"),
    ("DPMASE-v0", {"runs": 10**9}, "runs=1000000000 of n_agents=64 and n_arms=10 would take"),
    ("DPMASE-v0", {"n_arms": 10**9, "means": hb.UniformMeans()}, "n_arms=1000000000 would take"),
    ("DistDP-v0", {"n_agents": 10**9}, "n_agents=1000000000 and n_arms=10 would take"),
    ("DistDP-v0", {"runs": 10**9}, "runs=1000000000 of n_agents=1 and n_arms=10 would take"),
    ("DistDP-v0", {"n_arms": 10**9}, "n_arms=1000000000 would take"),
    ("LTR-v0", {"runs": 10**9}, "runs=1000000000 of n_agents=1 and n_arms=10 would take"),
    ("CoopNetwork-v0", {"horizon": 10**18}, "horizon is too large: it must be an integer in 1..9007199254740992"),
    ("DPMASE-v0", {"horizon": 10**18}, "horizon is too large"),
    ("DistDP-v0", {"horizon": 10**18}, "horizon is too large"),
    ("CoopNetwork-v0", {"n_agents": 10**5000}, "n_agents is too large"),
    ("CoopNetwork-v0", {"life": 10**30}, "life is too large"),
])  # fmt: skip
def test_sizes_are_estimated_before_anything_is_allocated(env_id, kwargs, error):
    hb.make_vec(env_id)  # imports
    start = time.perf_counter()
    with pytest.raises(ValueError, match=error) as caught:
        hb.make_vec(env_id, **kwargs)
    assert time.perf_counter() - start < 0.9
    assert "\n" not in str(caught.value)


def test_the_limit_can_be_raised_and_lowered(monkeypatch):
    monkeypatch.setenv("HUSHBANDITS_MEMORY", "0.001")
    with pytest.raises(
        ValueError, match=r"more than the 0.001 GiB allowed; set HUSHBANDITS_MEMORY \(GiB\) to allow more"
    ):
        hb.make_vec("CoopNetwork-v0", n_agents=400)
    monkeypatch.setenv("HUSHBANDITS_MEMORY", "1")
    hb.make_vec("CoopNetwork-v0", n_agents=400)
    monkeypatch.setenv("HUSHBANDITS_MEMORY", "lots")
    with pytest.raises(ValueError, match="HUSHBANDITS_MEMORY='lots' must be a number of GiB > 0"):
        hb.make_vec("CoopNetwork-v0")


def test_a_flood_and_a_block_of_individuals_are_estimated_too(monkeypatch):
    monkeypatch.setenv("HUSHBANDITS_MEMORY", "0.1")
    env = hb.make_vec("CoopNetwork-v0", edge_loss=0.1, extra_delay=10**4)
    with pytest.raises(ValueError, match="posts that fly .* rounds would take"):
        env.reset(0)
    env = Feedback(users="each", horizon=10**12)
    env.reset(0)
    with_users = (np.zeros((1, 1), int), np.full((1, 1), 10**12))
    env.pull(with_users)
    with pytest.raises(ValueError, match="a block of 1000000000000 users one by one would take"):
        env.talk()


@pytest.mark.parametrize("location", [1e300, -1e300, np.inf, np.nan])
def test_means_stay_where_sums_are_finite(location):
    with pytest.raises(ValueError, match=r"means\[1\]="):
        hb.make_vec("CoopNetwork-v0", rewards="gaussian", means=[0.0, location])
    assert LARGEST * 1e9 < np.inf


@pytest.mark.parametrize("seeds", [[], [1, 2], "a", None, 1.5, True, -1, [None], np.array([1])])
def test_seeds_are_an_integer_or_seed_sequences(seeds):
    env = hb.make_vec("CoopNetwork-v0")
    with pytest.raises(ValueError, match="seed"):
        env.reset(seeds)
