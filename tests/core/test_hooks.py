"""What a wrapper of one's own returns is checked once, and the sentence names it and its hook."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from kinds import each_once
from refusals import rows
from talk import NET, at_talk

import hushbandits as hb
from hushbandits.core.face import Face
from hushbandits.core.wrapper import Wrapper
from hushbandits.envs.rounds.env import Rounds

DATE = np.array(["2020-01-01"], "datetime64[D]")


def wrapper(hook, value, **more):
    """A wrapper named Mine one hook of which returns `value`."""
    made = type("Mine", (Wrapper,), {hook: lambda self, *_: value, **more})
    return made()


def game(made, **kwargs):
    env, _ = at_talk(wrappers=[made], **kwargs)
    env.talk()
    env.metrics()
    env.privacy()


NOTHINGS = [None, 3, "reward", ["reward"], np.zeros(3), {1: hb.Field()}, {"reward": "f8"}, {"reward": None}]


@each_once
@pytest.mark.parametrize("hook", ["sends", "hears", "tells"])
@pytest.mark.parametrize("value", NOTHINGS, ids=repr)
def test_what_is_declared_is_fields(hook, value):
    with pytest.raises(TypeError, match=rf"^Mine\.{hook} must return a dict of Field by name, not ") as caught:
        game(wrapper(hook, value))
    assert "\n" not in str(caught.value)


@rows("value", [None, 3, "x", [1], np.zeros(2)])
@rows(("hook", "says"), [("deliver", "an Inbox"), ("metrics", "a dict of arrays")])
def test_what_passes_is_of_its_kind(hook, says, value):
    with pytest.raises(TypeError, match=rf"^Mine\.{hook} must return {says}"):
        game(wrapper(hook, value))


@rows("value", [None, 3, "x", [1], np.zeros(2)])
def test_send_returns_a_message(value):
    with pytest.raises(TypeError, match=r"^message behind Mine must be a dict of arrays by field, not "):
        game(wrapper("send", value))


@rows("value", [0, False, "done", np.zeros(1), {}])
def test_reset_returns_nothing(value):
    with pytest.raises(TypeError, match=r"^Mine\.reset must return nothing, not "):
        game(wrapper("reset", value))


@rows(
    "value",
    [None, "x", DATE, [[1, 2], 3], np.zeros((1, 4)), np.full((1, 5), "x"), np.zeros((1, 5), complex),
     np.zeros((1, 5), object), np.zeros((1, 5), "M8[D]"), np.full((1, 5), np.nan), np.full((1, 5), np.inf), 2.0,
     np.full((1, 5), 1.5)],
)  # fmt: skip
def test_tell_keeps_to_what_it_declares(value):
    made = wrapper("tell", value, tells=lambda self, fields, env: {"reward": hb.Field(low=0.0, high=1.0)})
    with pytest.raises(ValueError, match=r"^Mine\.tell, by what its tells\(\) declares: reward ") as caught:
        game(made)
    assert "\n" not in str(caught.value)


@rows(
    ("value", "error", "says"),
    [
        (None, TypeError, r"Mine\.told must return a dict of arrays by field, not None"),
        ([1], TypeError, r"Mine\.told must return a dict"),
        ({}, ValueError, r"tells\(\) declares 'hint', and no wrapper's told\(\) gives it"),
        ({"hnt": 1}, ValueError, r"Mine\.told: no tells\(\) declares 'hnt'; did you mean hint\?"),
        ({"hint": "x"}, ValueError, r"field 'hint' of Mine\.told must be numbers of shape \(1, 5\)"),
        ({"hint": np.full((1, 5), np.nan)}, ValueError, r"field 'hint' of Mine\.told holds nan"),
    ],
)
def test_told_gives_what_tells_declares(value, error, says):
    made = wrapper("told", value, tells=lambda self, fields, env: {**fields, "hint": hb.Field()})
    with pytest.raises(error, match=says):
        game(made)


VALUES = [["a"], "a", DATE, [datetime.date(2020, 1, 1)], [None], [object()], [1j], [[1], [2, 3]], 1.0, [1.0, 2.0],
          np.zeros((2, 1)), [lambda: 0], np.array([b"x"])]  # fmt: skip


@rows("value", VALUES)
def test_metrics_are_numbers_per_run(value):
    with pytest.raises(ValueError, match=r"^Mine\.metrics: 'height' must be numbers of shape \(1, …\), not ") as caught:
        game(wrapper("metrics", {"height": value}))
    assert "\n" not in str(caught.value)

    class Tall(hb.Team):
        setting = "network"

        def act(self, obs):
            return np.zeros(obs.who.shape, int)

        def metrics(self, env):
            return {"height": value}

    with pytest.raises(ValueError, match=r"^Tall\.metrics: 'height' must be numbers of shape \(1, …\), not "):
        hb.play(hb.make_core("CoopNetwork-v0", **{**NET, "horizon": 2}), Tall())


@pytest.mark.parametrize("name", ["regret", "messages", "agent_regret"])
def test_nobody_measures_what_the_env_does(name):
    with pytest.raises(ValueError, match=rf"^Mine\.metrics: '{name}' is measured already"):
        game(wrapper("metrics", {name: np.zeros(1)}))


@rows("value", [[0.0], [True], [3], np.zeros((1, 7), np.float16), np.zeros((1, 0))])
def test_any_number_per_run_is_a_metric(value):
    game(wrapper("metrics", {"height": value}))


def test_a_curve_is_a_number_per_run():
    with pytest.raises(ValueError, match=r"Mine\.curve_metrics names 'wide', which its metrics\(\) does not measure"):
        game(wrapper("metrics", {}, curve_metrics=("wide",)))
    with pytest.raises(
        ValueError, match=r"Mine\.metrics: 'wide' must be numbers of shape \(1,\), not float64 \(1, 2\)"
    ):
        game(wrapper("metrics", {"wide": np.zeros((1, 2))}, curve_metrics=("wide",)))


@rows("value", [None, 1.0, "ε", [1.0], (None,), ["ε = 1"]])
def test_promises_are_guarantees(value):
    with pytest.raises(TypeError, match=r"^Mine\.promises must return a tuple of Guarantee, not "):
        game(wrapper("promises", value))


@rows(
    ("name", "value", "says"),
    [
        *(("drops", value, r"must lie in \[0, 1\]") for value in (np.nan, np.inf, -0.1, 1.1, "x", True, [0.5])),
        ("verbs", "drop", "must be a tuple of names"),
        ("verbs", ("dorp",), "there is no verb 'dorp'; did you mean drop"),
        ("verbs", (1,), "must be a tuple of names"),
        ("curve_metrics", "regret", "must be a tuple of names"),
        ("curve_metrics", (1,), "must be a tuple of names"),
        ("spends", None, "must be a tuple of names"),
        ("keeps_promises", "no", "must be true or false"),
    ],
)
def test_what_a_class_says_of_itself_is_of_its_form(name, value, says):
    with pytest.raises(ValueError, match=rf"^Mine\.{name}.*{says}"):
        game(wrapper("tell", None, **{name: value}))


def test_a_wrapper_has_a_name():
    class Nameless(Wrapper):
        def __init__(self):
            pass

    with pytest.raises(ValueError, match=r"name=None"):
        game(Nameless())
    with pytest.raises(ValueError, match=r"name=7"):
        game(Wrapper(name=7))


def test_a_wrapper_that_sorts_the_seeds_changes_no_run():
    class Sorting(Wrapper):
        def reset(self, env, seeds):
            list(seeds).reverse()
            assert isinstance(seeds, tuple)

    env, _ = at_talk(wrappers=[Sorting()])
    assert len(env.seeds) == 1


def test_a_property_that_fails_says_why():
    class Broken(Rounds):
        @property
        def reach(self):
            return self.no_such_thing

        @property
        def t(self):
            return self.nor_this

        @property
        def live(self):
            return super().live

    env = Broken(n_agents=2, horizon=3)
    with pytest.raises(RuntimeError, match="reach before the start"):
        _ = env.reach
    env._phase = "pull"
    with pytest.raises(AttributeError, match="no attribute 'no_such_thing'"):
        _ = env.reach
    with pytest.raises(AttributeError, match="no attribute 'nor_this'"):
        _ = Face(env).t
