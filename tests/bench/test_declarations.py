"""An invalid declaration gives one sentence with the key, the value and the expected form."""

from __future__ import annotations

import copy
import json
import tomllib

import pytest
from bench_helpers import BASE, TOML, small
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import rows

import hushbandits as hb
from hushbandits.bench.spec.catalog import read_toml
from hushbandits.bench.spec.experiment import Experiment


@rows("key", ["env", "agents"])
@rows("value", ["3", "[]", "[[]]", '""', '[""]', "{}", "{ type = 3 }", '{ type = "" }', '{ type = "A", label = 3 }'])
def test_env_and_agents_of_another_shape_are_a_sentence(key, value):
    table = tomllib.loads(BASE) | tomllib.loads(f"{key} = {value}") | {"name": "x"}
    with pytest.raises(ValueError, match=r"must|is invalid") as error:
        Experiment.from_dict(table)
    assert "\n" not in str(error.value)


@rows(
    "text",
    [
        "experiments = 3",
        "experiments = []",
        "[[experiments]]\n[[experiments]]\n",
        "x = " + "[" * 9999,
        "x = " + "9" * 9999,
        "runs =",
        "experiments = 3\n" + BASE,
    ],
)
def test_a_file_of_another_shape_is_a_sentence(tmp_path, text):
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(ValueError, match=r"must be a list|is missing|not valid TOML|move .* into") as error:
        read_toml(tmp_path / "x.toml")
    assert "\n" not in str(error.value)


def test_a_whole_float_is_an_integer_everywhere(tmp_path):
    (tmp_path / "x.toml").write_text("runs = 2.0\ncheckpoints = [1.0, 5.0]\n" + BASE)
    (one,) = read_toml(tmp_path / "x.toml")
    assert (one.runs, one.checkpoints) == (2, (1, 5))
    assert isinstance(one.runs, int)
    assert small(runs=2.0) == small(runs=2)
    assert [c.key for c in small(checkpoints=4.0).cells()] == [c.key for c in small(checkpoints=4).cells()]
    results = hb.evaluate("CoopNetwork-v0", "UCB1", runs=2.0, env={"n_agents": 3, "horizon": 5})
    assert results.final("regret").shape == (2,)
    assert hb.make_batched("CoopNetwork-v0", runs=2.0).runs == 2


def test_no_checkpoints_are_not_the_default_ones():
    none = small(checkpoints=())
    assert Experiment.from_dict(json.loads(json.dumps(none.to_dict()))).checkpoints == ()
    assert "checkpoints" not in small().to_dict()


# -- any value anywhere -----------------------------------------------------------------------------------------

DOCUMENT = tomllib.loads(
    TOML.replace("runs = 3", 'name = "n"\nruns = 3\nsource = "s"\ncheckpoints = [1, 3]\npaired = ["horizon"]')
    + """
lines = ["Multi"]
at = { "env.n_agents" = 3 }
bounds = { a = "b:c" }
[[claims]]
sentence = "s"
metric = "regret"
of = { agent = "alone", "env.n_agents" = 3 }
over = "Multi-UCB"
effect = "ratio"
below = 1.0
at = { "env.n_agents" = [3] }
[quick]
runs = 2
"env.n_agents" = 3
[[wrappers]]
type = "Huber"
rate = 0.1
"""
)


def _paths(value, path=()):
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from _paths(part, (*path, key))


_LEAF = st.one_of(
    st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.dates(), st.just(4000).map(lambda e: 10**e)
)
_KEYS = st.one_of(
    st.sampled_from(
        ["type", "label", "on", "Graph", "nodes", "edges", "Gaussian", "UniformMeans", "low", "y", "env.max_hops"]
    ),
    st.text(max_size=5),
)
_VALUES = st.recursive(_LEAF, lambda v: st.lists(v, max_size=3) | st.dictionaries(_KEYS, v, max_size=3), max_leaves=8)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(list(_paths(DOCUMENT))), _VALUES), min_size=1, max_size=2))
def test_any_value_anywhere_is_an_experiment_or_a_sentence(changes):
    table = copy.deepcopy(DOCUMENT)
    for path, value in changes:
        try:
            at = table
            for key in path[:-1]:
                at = at[key]
            if path:
                at[path[-1]] = value
            else:
                table = value
        except (KeyError, IndexError, TypeError):
            continue  # the other change removed its place
    said = ""
    try:
        experiment = Experiment.from_dict(table)
        assert experiment.cells()
        experiment.quickly()
        assert Experiment.from_dict(json.loads(json.dumps(experiment.to_dict()))) == experiment
    except (ValueError, TypeError) as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < 700


def test_an_empty_title_is_the_name():
    experiment = Experiment.from_dict({**copy.deepcopy(DOCUMENT), "title": ""})
    assert experiment.title == experiment.name
    assert Experiment.from_dict(json.loads(json.dumps(experiment.to_dict()))) == experiment
