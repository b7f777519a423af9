"""Slips that nobody would notice: hooks that are never called, and a generator that no seed repeats."""

from __future__ import annotations

import inspect
import itertools
import warnings

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.core import habits
from hushbandits.core.habits import misspelt
from hushbandits.registry import builtin_classes

ENV = {"n_agents": 3, "horizon": 6}
HOOKS = ("act", "speak", "hear")


@pytest.fixture(autouse=True)
def afresh(monkeypatch):
    monkeypatch.setattr(habits, "_seen", set())
    monkeypatch.setattr(habits, "_told", set())


class Agent:
    """One agent's code."""

    blind = True

    def __init__(self, m, rng):
        self.rng = rng

    def act(self, t):
        return 0

    def learn(self, message):
        """A helper of its own."""


class Team(hb.Team):
    setting = "network"

    def act(self, obs):
        return np.zeros(obs.who.shape, int)


class Wrapper(hb.Wrapper):
    """It changes nothing."""


def played(kind, cls):
    agent, wrappers = (Team, [cls()]) if kind is Wrapper else (cls, [])
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        for _ in range(2):
            hb.evaluate("CoopNetwork-v0", agent, runs=2, env=ENV, wrappers=wrappers)
    return [str(note.message) for note in noted]


@pytest.mark.parametrize(
    ("kind", "name", "hook"),
    [
        (Agent, "speek", "speak"),
        (Agent, "heer", "hear"),
        (Agent, "Hear", "hear"),
        (Team, "speka", "speak"),
        (Team, "heard", "hear"),
        (Team, "metric", "metrics"),
        (Team, "rest", "reset"),
        (Wrapper, "sendd", "sends or send"),
        (Wrapper, "hear", "hears"),
    ],
)
def test_a_method_one_slip_from_a_hook_is_pointed_out_once(kind, name, hook):
    cls = type("Own", (kind,), {name: lambda self, *args: None, "__module__": __name__})
    assert played(kind, cls) == [f"Own defines {name}, which nobody calls; did you mean {hook}?"]


@pytest.mark.parametrize("kind", [Agent, Team, Wrapper])
def test_what_is_spelt_well_is_not_mentioned(kind):
    assert played(kind, type("Own", (kind,), {"__module__": __name__, "helper": lambda self: 0})) == []


def test_a_helper_beside_the_hook_itself_is_nobody_s_slip():
    both = type("Both", (Agent,), {"hear": lambda self, messages: None, "heard": lambda self: None})
    assert list(misspelt(both, HOOKS)) == []


def test_one_slip_is_one_letter_more_less_other_or_two_exchanged():
    def said(word):
        return [hook for _, meant in misspelt(type("Own", (), {word: lambda self: None}), HOOKS) for hook in meant]

    word, letters = "speak", "abekpsx"
    slips = {word[:i] + c + word[i:] for i in range(6) for c in letters}
    slips |= {word[:i] + word[i + 1 :] for i in range(5)} | {
        word[:i] + c + word[i + 1 :] for i in range(5) for c in letters
    }
    slips |= {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(4)}
    for slip in slips - {word}:
        assert said(slip) == [word], slip
    for far in ("spe", "speech", "talk", "kaeps", "learn", "send", *map("".join, itertools.permutations("hea"))):
        assert word not in said(far), far


def test_nothing_that_ships_would_be_mentioned():
    for cls in builtin_classes():
        base = next((b for b in (hb.Team, hb.Wrapper) if issubclass(cls, b)), None)
        if base is not None:
            known = [n for n, v in vars(base).items() if callable(v) and not n.startswith("_")]
            assert list(misspelt(cls, known, base)) == [], inspect.getsourcefile(cls)


def lucky(*_):
    return np.random.random()


@pytest.mark.parametrize(
    ("kind", "hook", "does"),
    [
        (Agent, "act", lambda self, t: int(lucky() < 0.5)),
        (Agent, "hear", lucky),
        (Team, "act", lambda self, obs: (np.full(obs.who.shape, lucky()) < 0.5).astype(int)),
        (Team, "reset", lambda self, env, seeds: lucky() and None),
        (Wrapper, "reset", lambda self, env, seeds: lucky() and None),
    ],
)
def test_who_draws_from_the_global_generator_is_named_once(kind, hook, does):
    (said,) = played(kind, type("Lucky", (kind,), {hook: does, "__module__": __name__}))
    assert said.startswith("NumPy's global generator moved while ")
    assert "Lucky" in said
    assert "draw from the rng" in said


def test_who_draws_from_its_own_is_not(monkeypatch):
    own = type("Own", (Agent,), {"act": lambda self, t: int(self.rng.integers(2)), "__module__": __name__})
    assert played(Agent, own) == []
