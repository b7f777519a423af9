"""A team and an env are compatible only if the run can be played; else one sentence refuses them before round 1."""

import random
import warnings
from dataclasses import dataclass

import pytest
from kinds import each_once, representatives, weekly_but
from named import taken
from own_agents_that_fail import Still

import hushbandits as hb
from hushbandits.core.random.rewards import Gaussian
from hushbandits.core.rollout import rollout
from hushbandits.core.team import check_compatible
from hushbandits.registry import assemble, list_agents, list_envs, list_wrappers, make_batched, make_team

WORD = {"word": hb.Field()}
#: Requirements of a team: mostly none, else one of these.
OPTIONS = {
    "n_agents": (1, 2, 3, 4, 4.0, 9),
    "n_arms": (2, 3, 5),
    "extra_fields": (WORD, {"bits": hb.Field((3,), "?")}),
    "fields": (
        WORD, {}, {"vote": hb.Field(dtype="?", per_arm=True)}, {"vote": hb.Field()}, {"arm": hb.Field(dtype="i8")},
        {"arm": hb.Field(dtype="i8"), "reward": hb.Field()}, {"sums": hb.Field((2,), per_arm=True)},
    ),
    "rewards": ("bernoulli", "beta", "clipped-gaussian", "gaussian", "stable"),
    "graph": ("cycle", "grid", "star", "complete", "path", "erdos-renyi"),
    "max_hops": (0, 1, 2, None, "diameter", "diameter/2"),
    "hop_delay": (1, 3),
    "edge_failure_prob": (0.3,),
    "routing": ("tree",),
    "drift": (0.01,),
    "n_change_points": (1,),
    "termination_by": ("everyone",),
    "inactive_agents": ("drop", "keep"),
    "termination": ("coordinator", "players", "horizon"),
    "one_arm_per_step": (True, False),
    "allow_vote_resets": (True,),
    "threshold": (0, 1, 2),
    "vote_rule": (">", ">="),
    "simulate_users": ("individual",),
    "user_dropout": (0.2,),
}  # fmt: skip
OFTEN = {"n_agents": 0.8, "graph": 0.6, "max_hops": 0.5, "n_arms": 0.5, "extra_fields": 0.1, "fields": 0.1}


@dataclass(frozen=True)
class Wide(Gaussian):
    """A user-defined law that teams do not see."""


class Rounded(hb.Wrapper):
    operations = ("map",)

    def send(self, message, env):
        return message.map(lambda x: x.round())


def asked(env_id, rng):
    """A few of an env's parameters, and sometimes a wrapper."""
    known = set(taken(env_id))
    env = {k: rng.choice(v) for k, v in OPTIONS.items() if k in known and rng.random() < OFTEN.get(k, 0.2)}
    wrappers = rng.sample(list_wrappers(), rng.choice([1, 2])) if rng.random() < 0.3 else []
    return {**env, "horizon": rng.choice([1, 2, 3, 17, 40])}, wrappers


def plays_or_is_refused(env_id, agent, env, wrappers, step, seed=0):
    """Return whether a run ended; a refusal is one sentence before the first round."""
    begun, refusal = [], ""
    try:
        team = make_team(agent)
        core = assemble(env_id, team, runs=2, env=env, wrappers=wrappers)
        check_compatible(core, team)
        # a random graph is drawn when the runs start, and may be refused there
        begun.append(env.get("graph") != "erdos-renyi")
        core.pull = seen(core.pull, begun)
        rollout(core, team, seed, step)
        assert not core.running.any()
    except (ValueError, TypeError) as error:
        refusal = str(error)
    assert not (refusal and any(begun)), f"{env_id}, {agent}, {env}, {wrappers} dies after the meeting: {refusal}"
    assert "\n" not in refusal
    return not refusal


def seen(pull, begun):
    def watched(action):
        begun.append(True)
        return pull(action)

    return watched


@pytest.mark.parametrize("everybody", [False, pytest.param(True, marks=pytest.mark.weekly)])
@pytest.mark.parametrize("env_id", weekly_but([("DPMASE-v0",), ("DistDP-v0",)], *((name,) for name in list_envs())))
def test_every_agent_plays_to_the_end_or_is_refused_at_the_door(env_id, everybody):
    rng, setting = random.Random(env_id), make_batched(env_id).setting
    played = 0
    for agent in list_agents() if everybody else sorted(representatives(list_agents())):
        if make_team(agent).setting not in ("", setting):
            with pytest.raises(ValueError, match=f"setting, but .* has {setting}$"):
                assemble(env_id, make_team(agent), runs=1, env={})
            continue
        for step in (None, lambda: None):
            env, wrappers = asked(env_id, rng)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # votes without effect
                played += plays_or_is_refused(env_id, agent, env, wrappers, step, rng.randrange(9))
    assert played > 0


@each_once
@pytest.mark.parametrize("agent", ["Multi-UCB", "UCB1", "QuACK-UCB", "Random", "Byzantine-UCB", "PPO-CoopNetwork"])
@pytest.mark.parametrize(
    "more", [{"extra_fields": WORD}, {"fields": WORD}, {"fields": {}}, {"fields": {"arm": hb.Field()}}]
)
def test_who_says_the_standard_report_says_nothing_else(agent, more):
    with pytest.raises(ValueError, match=r"standard report|was trained|a policy") as error:
        check_compatible(make_batched("CoopNetwork-v0", n_agents=4, **more), make_team(agent))
    assert "\n" not in str(error.value)


def test_a_law_does_not_replace_what_was_mapped():
    core = make_batched("LTR-v0", wrappers=[Rounded()])
    with pytest.raises(ValueError, match="Huber must replace rewards before they are mapped"):
        hb.wrap(core, "Huber")


@pytest.mark.parametrize("more", [{"simulate_users": "individual"}, {"wrappers": ["Huber", Rounded()]}])
def test_wrappers_that_change_rewards_in_an_order_that_can_be_played_are_played(more):
    core = make_batched("LTR-v0", **{"wrappers": [Rounded(), "Huber"], "horizon": 64, **more})
    assert rollout(core, make_team("Random"))["users"].tolist() == [64]


class Speaking(Still):
    def compose(self, reward):
        return {"word": 1.0}


class Declared(hb.Team):
    fields = WORD


def test_a_team_says_what_it_declares_and_agents_of_ones_own_what_is_asked():
    core = make_batched("CoopNetwork-v0", n_agents=2, horizon=2, extra_fields=WORD)
    with pytest.raises(
        ValueError, match=r"^Still sends the standard report \(arm int64, reward float64\), but the env expe"
    ):
        check_compatible(core, hb.PerAgent(Still))
    with pytest.raises(
        ValueError, match=r"^Declared sends its own fields \(word float64\), but the env expects arm int64, "
    ):
        check_compatible(core, Declared())
    rollout(core, hb.PerAgent(Speaking))
    rollout(make_batched("CoopNetwork-v0", n_agents=2, horizon=2), hb.PerAgent(Still))


BERNOULLI = {
    "CoopNetwork-v0": [
        *(lead + policy for policy in ("KL-UCB", "IMED", "TS") for lead in ("", "QuACK-")), "Dec-TS",
    ],
    "DPMASE-v0": [f"{home}-{rule}" for home in ("Decentralized", "0-Privacy", "1-Privacy")
                  for rule in ("KL-Racing", "KL-LUCB")],
}  # fmt: skip


@pytest.mark.parametrize(("env_id", "agent"), [(env_id, agent) for env_id, its in BERNOULLI.items() for agent in its])
def test_a_rule_on_the_unit_interval_plays_no_other_rewards(env_id, agent):
    for law, refused in (("beta", False), ("clipped-gaussian", False), ("gaussian", True), (Wide(), True)):
        core = assemble(env_id, make_team(agent), runs=1, env={"rewards": law, "n_agents": 32, "horizon": 9})
        if refused:
            with pytest.raises(ValueError, match=r"needs rewards in \[0, 1\]"):
                check_compatible(core, make_team(agent))
        else:
            check_compatible(core, make_team(agent))


@pytest.mark.parametrize(("agent", "own"), [("TS", "private"), ("QuACK-IMED", "private"), ("QuACK-TS", "true")])
def test_a_rule_on_the_unit_interval_learns_from_no_noised_reward(agent, own):
    core = make_batched(
        "CoopNetwork-v0", n_agents=4, horizon=9, wrappers=[hb.make_wrapper("LocalLaplace", own_feedback=own)]
    )
    with pytest.raises(ValueError, match=r"\[0, 1\].*LocalLaplace"):
        check_compatible(core, make_team(agent))


def test_a_rule_on_the_unit_interval_learns_from_bits_and_lies():
    for wrapper in (hb.make_wrapper("LocalBernoulli"), hb.make_wrapper("Huber", law="gaussian")):
        env = make_batched("CoopNetwork-v0", n_agents=4, horizon=9, wrappers=[wrapper])
        check_compatible(env, make_team("QuACK-TS"))


def test_random_play_pulls_one_arm_where_one_is_taken():
    team = make_team("Random", rate=0.2)
    core = make_batched("DecentralizedExploration-v0", runs=3, n_agents=4, require_confidence=False, horizon=50)
    assert core.one_arm_per_step
    rollout(core, team, 1, lambda: None)
    assert not core.running.any()
