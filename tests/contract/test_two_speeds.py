"""Compiled rounds are the beats, bit for bit, and in them, too, a run alone is its row of a batch."""

import numpy as np
import pytest
from helpers import equal
from homes import HOMES, compiled

from hushbandits.core.face import Face
from hushbandits.core.luck.tapes import run_seeds
from hushbandits.core.play import play, record

RUNS = 20


def learnt(team):
    """Counts and the like: not the room for samples, which holds anything until it is written."""
    kept = {"n", "s", "t", "wins", "losses", "weight", "bound", "luck"}
    pi = getattr(getattr(team, "state", None), "pi", ())
    named = zip(getattr(pi, "_fields", ()), pi, strict=True)
    return {name: x.copy() for name, x in named if name in kept and isinstance(x, np.ndarray)}


@pytest.mark.parametrize("name", HOMES)
def test_what_is_compiled_is_played_in_compiled_rounds(name):
    """Else beats would be compared with beats."""
    env, team = HOMES[name].build(2)
    env.reset(0)
    team.reset(Face(env), env.seeds)
    assert team.episode(env) == compiled(HOMES[name])


@pytest.mark.parametrize("name", [name for name, home in HOMES.items() if compiled(home)])
def test_compiled_rounds_are_the_beats_and_a_row_is_a_run(name):
    env, team = HOMES[name].build(RUNS)
    batch = play(env, team, 4)
    state = learnt(team)
    equal(play(env, team, 4, step=lambda: None), batch)
    equal(learnt(team), state)
    seen = []
    for _ in range(2):  # compiled rounds stop where a curve has a point, and go on
        seen.append(record(env, team, 4, [1, 2, 3, 10, 11, 40, 777, 778], env.curve_metrics))
        team.episode = lambda *_: False
    equal(seen[0][0], batch)
    equal(seen[0][1], seen[1][1])
    if env.horizon == 40:
        equal({name: values[:, 5] for name, values in seen[0][1].items()}, {name: batch[name] for name in seen[0][1]})
    alone = play(*HOMES[name].build(1), run_seeds(4, RUNS)[2:3])
    equal(alone, {metric: values[2:3] for metric, values in batch.items()})
