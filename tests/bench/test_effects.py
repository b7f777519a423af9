"""Claims as effects: agents given as objects of the declaration, and the flat form in stores and TOML files."""

from __future__ import annotations

import pytest
from bench_helpers import small
from hypothesis import given, settings
from hypothesis import strategies as st

from hushbandits.bench.runner.check import points
from hushbandits.bench.spec.claim import EFFECTS, ORIGINS, Claim, Difference, Ratio, Slope, Value
from hushbandits.bench.spec.experiment import Component
from hushbandits.bench.stats.intervals import PROCEDURES

SHARED, ALONE = Component("Multi-UCB"), Component("UCB1", label="alone")
TWIN = [Component("Private-UCB", epsilon=epsilon) for epsilon in (0.5, 1.0)]


def experiment(*claims, **changes):
    sweep = {"env.n_agents": (4, 8), "env.max_hops": (1, 2)}
    return small(**{"agents": [SHARED, ALONE, *TWIN], "sweep": sweep, "claims": claims, **changes})


@pytest.mark.parametrize(
    ("effect", "of", "over"),
    [
        (Ratio("regret", of=SHARED, over=ALONE), "Multi-UCB", "alone"),
        (Difference("regret", of=TWIN[0], over="alone"), "Private-UCB ε = 0.5", "alone"),
        (
            Value("regret", of={"agent": TWIN[1], "env.max_hops": 2}),
            {"agent": "Private-UCB ε = 1", "env.max_hops": 2},
            None,
        ),
        (Slope("regret", of=ALONE, over=SHARED, along="env.n_agents"), "alone", "Multi-UCB"),
        (Slope("regret", of=Component("UCB1", label="alone"), along="env.max_hops"), "alone", None),
    ],
)
def test_an_agent_is_named_by_its_object(effect, of, over):
    (claim,) = experiment(Claim("So.", effect, above=0)).claims
    assert (claim.effect.of, getattr(claim.effect, "over", None)) == (of, over)
    flat = claim.to_dict()
    assert (flat["of"], flat.get("over")) == (of, over)
    for _, cells in points(experiment(claim), claim):
        line = of if isinstance(of, str) else of["agent"]
        assert cells[0].line == line


def test_an_agent_beyond_its_guarantees_is_found_under_its_mark():
    agent = Component("Dist-DP-SE", require_calibrated=False)
    one = experiment(
        Claim("So.", Value("regret", of=agent), above=0), env=Component("LocalDP-v0"), agents=[agent], sweep={}
    )
    assert one.claims[0].effect.of == "Dist-DP-SE (uncalibrated)"


lines = st.sampled_from(["alone", "Multi-UCB", {"agent": "alone", "env.max_hops": 2}])


@st.composite
def claims(draw):
    kind = draw(st.sampled_from([*EFFECTS.values()]))
    more = {"over": draw(lines)} if kind in (Difference, Ratio) else {}
    if kind is Slope:
        more = {"along": "env.n_agents", **({"over": draw(lines)} if draw(st.booleans()) else {})}
    effect = kind(
        draw(st.sampled_from(["regret", "messages"])),
        of=draw(lines),
        statistic=draw(st.sampled_from(["mean", "median", "iqm"])),
        at=draw(st.sampled_from([{}, {"env.max_hops": [1]}, {"env.max_hops": 2, "env.n_agents": (4,)}])),
        **draw(st.sampled_from([{}, {"time": 5}, {"time": 5.0, "per_time": True}])),
        **more,
    )
    ends = draw(st.sampled_from([{"above": 0}, {"below": 1.5}, {"above": 0.5, "below": 2}]))
    source, origin = draw(st.sampled_from(["", "own"])), draw(st.sampled_from([*ORIGINS]))
    return Claim(draw(st.text("abc é|", min_size=1)), effect, source=source, origin=origin, **ends)


@settings(max_examples=60, deadline=None)
@given(claims())
def test_the_flat_form_is_the_claim(claim):
    flat = claim.to_dict()
    assert Claim.from_dict(flat) == claim
    assert Claim.from_dict(flat).to_dict() == flat
    assert all(not isinstance(value, Component) for value in flat.values())


def test_every_effect_has_procedures():
    for kind in EFFECTS.values():
        assert {statistic for statistic, of in PROCEDURES if of is kind} >= {"mean", "median", "iqm"}
