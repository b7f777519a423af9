"""Validation of numbers, bools and names: a usable value, or one sentence."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kinds import each_once
from refusals import rows

import hushbandits as hb
from hushbandits.core import flag, integer, real, reals
from hushbandits.core.utils.validate import LARGEST
from hushbandits.registry import AGENTS, ENVS, WRAPPERS

HUGE = [10**400, -(10**400), 10**5000, Fraction(10**400), Fraction(-(10**400), 3)]
NO_NUMBERS = [True, np.bool_(False), "1", None, Decimal("0.5"), [1], {}, 1j, b"1", np.array([1, 2])]
NOT_FINITE = [math.nan, math.inf, -math.inf, np.float32("nan"), np.float16("inf")]


def sentence(call, *args, **kwargs):
    with pytest.raises(ValueError, match="must") as error:
        call(*args, **kwargs)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 250
    return str(error.value)


@rows("value", [*HUGE, *NO_NUMBERS, *NOT_FINITE])
def test_what_is_no_usable_number_is_one_sentence(value):
    for low, high in ((0, math.inf), (0, 1), (-math.inf, math.inf)):
        assert sentence(real, "epsilon", value, low, high).startswith("epsilon=")
    assert sentence(integer, "n_agents", value, 1).startswith("n_agents=")


@rows("value", [1, 1.0, np.float32(1), np.float64(1), np.int8(1), np.uint64(1), Fraction(1)])
def test_numbers_of_every_kind_are_numbers(value):
    assert real("epsilon", value, 0) == 1
    assert type(real("epsilon", value, 0)) is float
    assert integer("n", value, 0) == 1
    assert type(integer("n", value, 0)) is int


def test_the_number_that_is_used_lies_inside():
    almost, tiny = Fraction(10**30 - 1, 10**30), Fraction(1, 10**400)
    assert float(almost) == 1.0
    assert sentence(real, "beta", almost, 0, 1).endswith("must be a finite number in (0, 1)")
    assert sentence(real, "beta", tiny, 0, 1).endswith("must be a finite number in (0, 1)")


@given(st.one_of(st.integers(), st.floats(), st.fractions(), st.booleans(), st.text(), st.none()))
def test_a_number_is_in_its_interval_or_refused(value):
    for check, low, high in ((real, 0, 1), (real, -2, math.inf), (integer, 1, 10), (integer, 0, LARGEST)):
        try:
            number = check("x", value, low, high)
        except ValueError as error:
            text = str(error)
            assert text.startswith("x=")
        else:
            assert low <= number <= high
            assert math.isfinite(number)


def test_integers_fit_into_an_array_but_seeds_need_not():
    assert integer("n", LARGEST, 1) == LARGEST
    assert sentence(integer, "n", 2**63, 1).endswith(f"must be an integer in 1..{2**63 - 1}")
    assert sentence(integer, "n", 0, 1).endswith("must be an integer ≥ 1")
    seed = 2**130 + 1
    found = [hb.evaluate("CoopNetwork-v0", "Random", 1, s, {"n_agents": 3, "horizon": 9}) for s in (seed, seed)]
    assert found[0].final("regret").tolist() == found[1].final("regret").tolist()
    assert hb.make_batched("LTR-v0", cluster_seed=seed).n_arms == 10


def test_truth_values_are_true_or_false():
    assert (flag("x", True), flag("x", np.bool_(False))) == (True, False)
    for value in (0, 1, "no", "off", "False", None, 1.0, []):
        assert sentence(flag, "x", value).endswith("must be true or false")


def _parameters(*kinds):
    """Yield maker, part and parameter whose default is of one of these types, once per class."""
    seen = set()
    for table, make in ((ENVS, hb.make_batched), (AGENTS, hb.make_team), (WRAPPERS, hb.make_wrapper)):
        for name, spec in table.items():
            for p, parameter in spec.parameters().items():
                home = spec.entry, spec.rest and spec.rest.entry, p
                if type(parameter.default) in kinds and home not in seen:
                    seen.add(home)
                    yield make, name, p


def test_every_truth_value_of_the_registry_is_checked():
    for make, name, parameter in _parameters(bool):
        for value in ("no", "off", "False", 0, None):
            assert f"{parameter}={value!r}" in sentence(make, name, **{parameter: value})


def _numeric():
    # some are read only on use, or refused for any value
    late = {(wrapper, "batch_window") for wrapper in ("SecAgg", "Shuffle")}
    late |= {("Shuffle", "min_cohort"), ("ShuffledNoise", "delta")}
    late |= {(env, p) for env in ("DuelingNetwork-v0", "FederatedNetwork-v0") for p in ("drift", "n_change_points")}
    for make, name, p in _parameters(int, float):
        if p != "runs" and (name, p) not in late:
            yield make, name, p


def test_every_number_of_the_registry_is_checked():
    for make, name, parameter in _numeric():
        for value in (-(10**400), math.nan, "x", [1]) + (() if "seed" in parameter else (10**400,)):
            assert parameter in sentence(make, name, **{parameter: value}), name


@each_once
@pytest.mark.parametrize("value", ["x", 1j, [0.5, 10**400], [0.5, "x"], [[0.5], [0.1, 0.2]], {}], ids=repr)
@pytest.mark.parametrize("id", ["CoopNetwork-v0", "DPMASE-v0", "CentralDP-v0"])
def test_lists_of_numbers_are_checked(id, value):
    assert "means=" in sentence(hb.make_batched, id, means=value)
    assert sentence(reals, "means", value).endswith("must be numbers")


# -- parameters with the names that the makers use -----------------------------------------------------------------


def test_a_wrapper_may_be_given_a_name():
    assert hb.make_wrapper("Loss", name="x").name == "x"
    env = hb.make_batched("DPMASE-v0", wrappers=[hb.make_wrapper("Loss", name=n, rate=0.1) for n in ("one", "two")])
    assert [w.name for w in env.wrappers] == ["one", "two"]


def test_an_agents_parameters_may_have_the_makers_names(monkeypatch):
    monkeypatch.setattr(AGENTS, "entries", dict(AGENTS.entries))

    class Named(hb.Team):
        def __init__(self, name="a", id=0, runs=1, entry=2):
            self.given = name, id, runs, entry

    hb.register_agent("Named", Named, entry=5)
    assert hb.make_team("Named", name="b", id=3, runs=4).given == ("b", 3, 4, 5)
    assert hb.Component("Named", name="b", self=1, id=3).having(self=2).params == {"name": "b", "self": 2, "id": 3}
