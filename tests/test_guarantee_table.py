"""The privacy report has no finite value that env, team or ledger do not support."""

import math
import re
from dataclasses import replace

import pytest
from helpers import calls
from kinds import weekly_but

import hushbandits as hb
from hushbandits.audits.cases import everything, named
from hushbandits.core.guarantee import Guarantee
from hushbandits.envs.feedback.env import Feedback
from hushbandits.privacy.divergence import epsilon_at, gaussian_profile
from hushbandits.privacy.laplace import compose_releases, release_counts
from hushbandits.registry import assemble
from hushbandits.wrappers.distributed_dp import DiscreteLaplace

PARAMS = {  # short, so that a table is cheap
    "exploration": {"n_agents": 32, "horizon": 200},
    "network": {"n_agents": 4, "horizon": 60},
    "feedback": {"horizon": 400},
    "linear": {"n_agents": 4, "horizon": 60},
}
WRAPPERS = [
    [],
    ["Loss"],
    ["LocalLaplace"],
    [("LocalLaplace", {"own_feedback": "private"})],
    ["SecAgg"],
    ["Shuffle"],
    ["Huber"],
    ["LocalLaplace", "Loss"],
]
AGENTS = [None, *(name for name in hb.list_agents() if not re.search("Naive|Median|LUCB|Racing", name))]


def built(id, agent, wrappers):
    """Return env and team, or ``None`` if they are incompatible."""
    given = [hb.make_wrapper(w) if isinstance(w, str) else hb.make_wrapper(w[0], **w[1]) for w in wrappers]
    params = PARAMS[hb.make_batched(id).setting]
    try:
        if agent is None:
            return hb.make_batched(id, wrappers=given, **params), None
        team = hb.make_team(agent)
        env = assemble(id, team, runs=1, env=params, wrappers=given)
        hb.check_compatible(env, team)
        return env, team
    except (ValueError, TypeError):
        return None


@pytest.mark.parametrize(
    "id",
    weekly_but(
        [("CoopNetwork-v0",), ("DPMASE-v0",), ("DistDP-v0",)], *((id,) for id in hb.list_envs() if id != "LTR-v0")
    ),
)
def test_nothing_is_said_that_is_not_promised(id):
    setting = hb.make_batched(id).setting
    fit = [agent for agent in AGENTS if agent is None or hb.make_team(agent).setting in ("", setting)]
    pairs = [pair for agent in fit for wrappers in WRAPPERS if (pair := built(id, agent, wrappers)) is not None]
    assert len([team for _, team in pairs if team is None]) >= 2
    assert len({type(team) for _, team in pairs}) >= 3  # no agent, Random, and an agent of that env
    for env, team in pairs:
        table = hb.privacy_report(env, team)
        promised = [*env.guarantees(), *(team.guarantees(env) if team is not None else ())]
        finite = {(g.epsilon, g.view) for g in promised if math.isfinite(g.epsilon) and not g.exact}
        lines = [line for line in table if math.isfinite(line.epsilon)]
        assert finite <= {(line.epsilon, line.against) for line in lines}
        assert len(lines) == sum(math.isfinite(g.epsilon) for g in promised)
        assert len(table) == max(1, len(promised))  # no guarantee is left out, nor the row that says that there is none
        for line in table:
            if math.isfinite(line.run_epsilon):
                assert math.isfinite(line.epsilon)
                assert line.run_epsilon >= line.epsilon * (1 - 1e-9)
                assert line.run_delta >= line.delta
                assert env.setting == "feedback" or line.by in ("LocalLaplace", "LocalBernoulli")
            # if one view of a mechanism is invalid, no other row of the mechanism may count without a note
            if line.counts == "yes":
                assert not any(o.by == line.by and "none helps" in "".join(o.assumptions) for o in table)
        assert str(table).count("one reward:") == len(table)
        assert list(table.to_frame().epsilon) == [line.epsilon for line in table]
        assert table._repr_html_().partition("</table>")[0].count("<tr>") == len(table) + 1


@pytest.mark.parametrize(
    ("id", "agent"),
    [("DistDP-v0", "Dist-DP-SE"), ("CentralDP-v0", "DP-SE"), ("LocalDP-v0", "LDP-SE"), ("DistRDP-v0", "Dist-RDP-SE"),
     ("DistCDP-v0", "Dist-CDP-SE"), ("ShuffleDP-v0", "Shuffle-DP-SE"), ("ShuffleDP-v0", "VB-SDP-AE")],
)  # fmt: skip
def test_the_ledger_supports_what_is_said_of_a_user(id, agent):
    env, team = built(id, agent, [])
    line = hb.privacy_report(env, team).lines[0]
    hb.rollout(env, team)
    book, said = env.mechanism.ledger, env.mechanism.guarantees(env)[0].epsilon
    assert book.worst.max() <= said * (1 + 1e-9)
    assert book.worst_delta.max() <= line.run_delta * (1 + 1e-9)
    for k in (1, 2, 5):  # a user who returns
        assert "in k blocks, at most k times ε and δ" in line.participant
        epsilon, delta = book.returning(0, k, max(k * line.run_delta, 1e-9))
        assert epsilon <= k * said * (1 + 1e-9)
        if line.run_delta:  # what is said of a run is worked out of the law of each block
            (exact,) = {env.mechanism.ledger.returning(0, 1, line.run_delta)[0]}
            assert exact <= line.run_epsilon * (1 + 1e-6)
        assert delta <= max(k * line.run_delta, 1e-9) * (1 + 1e-9)


@pytest.mark.parametrize("mechanism", ["laplace", "bernoulli"])
def test_reports_are_composed_as_dp_accounting_does(mechanism):
    """1,000 reports at ε = .5: 173 and 193 at δ = 10⁻⁶, where they add up to 500."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    law = (
        pld.from_laplace_mechanism(2.0, value_discretization_interval=1e-3)
        if mechanism == "laplace"
        else pld.from_randomized_response(2 / (1 + math.exp(0.5)), 2, value_discretization_interval=1e-4)
    )
    theirs = law.self_compose(1000).get_epsilon_for_delta(1e-6)
    (line,) = hb.privacy_report("LocalDPNetwork-v0", epsilon=0.5, horizon=1000, mechanism=mechanism)
    assert (line.run_epsilon, line.run_delta, line.run_pure) == (pytest.approx(theirs, rel=1e-3), 1e-6, 500.0)
    (pure,) = hb.privacy_report("LocalDPNetwork-v0", epsilon=0.5, horizon=1000, mechanism=mechanism, delta=0)
    assert (pure.run_epsilon, pure.run_delta) == (500.0, 0)


@pytest.mark.parametrize("delta", [math.exp(-10), 1e-6])
def test_releases_of_means_are_composed_as_dp_accounting_does(delta):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    law = pld.identity(1e-3)
    for n in release_counts(0.5, 1.1, 200).tolist():
        law = law.compose(pld.from_laplace_mechanism(n**0.55, value_discretization_interval=1e-3))
    theirs = law.get_epsilon_for_delta(delta)
    found = hb.privacy_report("PrivateNetwork-v0", epsilon=0.5, release_exponent=1.1, horizon=200, delta=delta).lines[1]
    assert (found.epsilon, found.delta) == (pytest.approx(theirs, rel=5e-3), delta)
    assert found.epsilon > theirs * (1 - 1e-4)


@pytest.mark.parametrize(
    ("epsilon", "v", "pulls", "closed", "exact"),
    [(1, 1.1, 60, 10.86, 7.43), (1, 1.2, 390, 11.07, 7.87), (0.5, 1.35, 250, 5.37, 3.55), (0.5, 1.07, 198, 7.63, 5.46)],
)
def test_a_run_of_private_means_costs_less_than_its_closed_form(epsilon, v, pulls, closed, exact):
    """At δ = e⁻¹⁰; the closed form is the one of Bun & Steinke that metrics use."""
    each = release_counts(epsilon, v, pulls) ** (-v / 2)
    delta = math.exp(-10)
    assert compose_releases(each.sum(), (each**2).sum(), delta) == pytest.approx(closed, abs=0.006)
    line = hb.privacy_report(
        "PrivateNetwork-v0", epsilon=epsilon, release_exponent=v, horizon=pulls, delta=delta
    ).lines[1]
    assert line.epsilon == pytest.approx(exact, abs=0.006)


@pytest.mark.parametrize(("id", "scale"), [("DistRDP-v0", 1.0), ("DistRDP-v0", 10.0), ("DistCDP-v0", 10.0)])
def test_blocks_cost_what_their_law_says_and_not_what_renyi_does(id, scale):
    """Skellam noise tends to the Gaussian from below: (ε, 10⁻⁶) of μ = 1 is 4.8866, and Rényi says 5.97 and 5.24."""
    line = hb.privacy_report(id, scale=scale).lines[0]
    gauss = epsilon_at(gaussian_profile(1.0), 1e-6)
    assert line.run_epsilon == line.epsilon == pytest.approx(gauss, rel=2e-4)
    assert line.run_epsilon < 0.95 * hb.make_batched(id, scale=scale).guarantees()[0].epsilon


@pytest.mark.parametrize(("colluders", "epsilon"), [(6, 1.16), (21, 1.70), (42, 3.03)])
def test_colluders_know_their_own_noise(colluders, epsilon):
    """Blocks of up to 64 users at ε = 1: exact, by the law of the others' noise."""
    lines = hb.privacy_report("DistDP-v0", horizon=64, honest=1 - colluders / 64).lines
    assert [line.epsilon for line in lines[:2]] == [1.0, pytest.approx(epsilon, abs=0.005)]
    assert "colluding" in lines[1].against
    assert "alone" in lines[0].against


def test_a_protocol_that_does_not_bear_the_coalition_promises_nothing_against_it():
    protocol = {"simulate_users": "individual", "protocol": "bonawitz", "horizon": 64}
    assert [math.isfinite(hb.privacy_report("DistDP-v0", honest=honest, **protocol).lines[1].epsilon)
            for honest in (0.9, 0.3)] == [True, False]  # fmt: skip
    with pytest.raises(ValueError, match="honest=0"):
        hb.make_batched("DistDP-v0", honest=0)


def test_reports_of_agents_that_go_by_exact_rewards_are_covered_one_by_one_and_a_run_is_not():
    noise = hb.make_wrapper("LocalLaplace", epsilon=0.01, own_feedback="true")
    whole, alone = hb.privacy_report("CoopNetwork-v0", "UCB1", wrappers=[noise], horizon=70).lines
    assert (whole.epsilon, whole.run_epsilon) == (math.inf, math.inf)
    assert whole.counts.startswith("yes, of all that is seen: nothing holds")
    assert (alone.epsilon, alone.run_epsilon) == (0.01, math.inf)
    assert alone.counts == "only of one message by itself: nothing is promised about a run"


def test_alternatives_say_which_counts():
    noised = hb.privacy_report("PrivateNetwork-v0", own_feedback="private", epsilon=0.5, horizon=1000)
    assert [line.counts[:12] for line in noised] == ["one of 2 bou"] * 2
    exact = hb.privacy_report("PrivateNetwork-v0", own_feedback="true", epsilon=0.5, horizon=1000)
    assert [math.isfinite(line.epsilon) for line in exact] == [False, True]
    assert {line.run_epsilon for line in exact} == {math.inf}  # all rewards of an agent


def test_a_promise_never_rests_on_what_the_agent_goes_by():
    """An agent that needs exact rewards is incompatible with an env that withholds them."""
    for agent in ("Random", "Private-UCB", "DP-UCB-INT"):
        assert all(math.isfinite(line.epsilon) for line in hb.privacy_report("PrivateNetwork-v0", agent, horizon=100))
    shown = hb.privacy_report(
        "CoopNetwork-v0", "UCB1", wrappers=[hb.make_wrapper("LocalLaplace", own_feedback="private")], horizon=100
    )
    assert [line.counts for line in shown] == ["yes"]  # no other own reward is published there


def test_every_way_to_ask_has_the_same_answer():
    kwargs = {"horizon": 500, "epsilon": 0.5}
    by_id = hb.privacy_report("DistDP-v0", "Dist-DP-SE", **kwargs)
    core = hb.make_batched("DistDP-v0", **kwargs)
    view = hb.make("DistDP-v0", **kwargs)
    team = hb.make_team("Dist-DP-SE")
    for other in (
        *(hb.privacy_report(core, agent) for agent in ("Dist-DP-SE", team, type(team))), hb.privacy_report(view, team),
        view.privacy("Dist-DP-SE"), hb.evaluate("DistDP-v0", team, runs=1, env=kwargs).privacy,
    ):  # fmt: skip
        assert other.lines == by_id.lines
    assert view.privacy().lines == hb.privacy_report("DistDP-v0", **kwargs).lines == by_id.lines
    vote = hb.privacy_report("DPMASE-v0", "DP-MASE", agent_kwargs={"epsilon": 0.25})
    assert [(line.epsilon, line.run_epsilon) for line in vote] == [(0.25, math.inf)]
    assert hb.privacy_report("DPMASE-v0").lines[0].by == "nobody"


@pytest.mark.parametrize("maker", ["make", "make_aec", "make_vec", "make_sb3", "make_torchrl"])
def test_every_view_has_an_answer(maker):
    for extra in {"make_sb3": ["stable_baselines3"], "make_torchrl": ["torchrl"]}.get(maker, []):
        pytest.importorskip(extra)
    for id in ("CoopNetwork-v0", "PrivateNetwork-v0", "DPMASE-v0", "DistDP-v0", "CentralDP-v0", "LocalDP-v0"):
        assert hb.privacy_report(getattr(hb, maker)(id)).lines == hb.privacy_report(id).lines


@pytest.mark.parametrize("agent", ["AdaP-UCB", "AdaP-KLUCB"])
def test_what_is_made_of_a_mechanisms_sums_has_its_epsilon_under_any_law(agent):
    class Mine(type(hb.make_batched("CentralDP-v0").law)):
        """A law whose table a face hides."""

    for id, law in (("LTR-v0", {}), ("CentralDP-v0", {"rewards": Mine()})):
        assert [line.epsilon for line in hb.privacy_report(id, agent, agent_kwargs={"epsilon": 0.5}, **law)] == [
            0.5,
            0.5,
        ]
    lost = hb.privacy_report("CentralDP-v0", agent, wrappers=["Loss"], agent_kwargs={"epsilon": 0.5})
    assert [line.epsilon for line in lost] == [0.5, 0.5]  # central noise depends on no user


def test_an_env_of_ones_own_may_promise_something_itself():
    base = type(hb.make_batched("CoopNetwork-v0"))

    class Quiet(base):
        def claimed_guarantees(self):
            return (Guarantee("silence", 0.0, 0.0, "anything", "everyone", (), "mine"),)

    table = hb.privacy_report(Quiet, n_agents=4)
    assert [(line.by, line.epsilon, line.run_epsilon) for line in table] == [("env", 0.0, math.inf)]


def test_of_several_bounds_the_one_that_counts():
    """One mechanism: its smallest bound.  Several: the largest of these.  One message by itself bounds nothing."""
    table = hb.privacy_report("CoopNetwork-v0", "Multi-UCB", wrappers=["LocalLaplace"], horizon=100)
    (line,) = table.lines

    def bound(*lines):
        return replace(table, lines=lines).bound()

    assert bound(line) == (1.0, 100.0)  # a reward a round
    dearer, other = replace(line, epsilon=3.0, run_pure=9.0), replace(line, by="another", epsilon=0.5)
    assert bound(dearer, line) == (1.0, 100.0)
    assert bound(dearer, other) == (3.0, 100.0)
    assert bound(line, replace(other, epsilon=math.inf)) == (1.0, 100.0)
    alone = replace(line, counts="only of one message by itself: nothing is promised about a run")
    assert bound(alone) == (math.inf, math.inf)
    assert bound(line, replace(other, counts="yes: nothing holds here", epsilon=math.inf)) == (math.inf, math.inf)
    assert bound() is None


def test_every_built_in_claim_is_vetted_and_a_user_defined_one_only_by_itself():
    cases = [case for name in everything() for case in named(name)]
    claims = [g for case in cases for g in case.promises]
    claims += [g for id in ("DistDP-v0", "CorruptedElimination-v0") for g in hb.make_batched(id).guarantees()]
    assert len(claims) >= 30
    assert all(g.vetted for g in claims)

    own = {"claimed_guarantees": lambda self, env: DiscreteLaplace.claimed_guarantees(self, env)}
    planned = {"plan": lambda self, n: DiscreteLaplace.plan(self, n)}
    for by, more in (((), own), (("review",), own | {"vetted": ("review",)}), ((), planned)):
        report = hb.privacy_report(Feedback, wrappers=[type("Mine", (DiscreteLaplace,), more)(), "SecAgg"])
        assert (report.lines[0].epsilon, report.lines[0].vetted) == (1.0, by)
        assert report.sp800_226()[1]["floating point"][0] == "does not hold"


EXACT = {"noise": "exact", "simulate_users": "individual"}


@pytest.mark.parametrize(
    ("id", "params", "answers"),
    [("DistDP-v0", EXACT, "hhohohho"), ("LocalDP-v0", {}, "hhhdooho"), ("PrivateNetwork-v0", {}, "hhhdoodo"),
     ("PrivateNetwork-v0", {"own_feedback": "true"}, "hdhdoodo")],
)  # fmt: skip
def test_answers_to_nist_follow_from_the_claim(id, params, answers):
    """Unit, ε and δ, trust, floating point, timing, seeds, composition, side channels."""
    report = hb.privacy_report(id, horizon=100, **params)
    found = [answer for answer, _ in report.sp800_226()[1].values()]
    assert found == [{"h": "holds", "d": "does not hold", "o": "outside the simulation"}[x] for x in answers]
    assert all(f"{answer}: " in str(report) for answer in found)


def test_a_table_costs_few_calls():
    """Calls of this package's functions, where the same table has been asked for before."""
    hb.privacy_report("DistDP-v0", "Dist-DP-SE")
    called = calls(hb.privacy_report, "DistDP-v0", "Dist-DP-SE")
    assert 0 < len(called) <= 354
    assert len({*called}) <= 17
