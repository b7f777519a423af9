"""Compiled rounds compared with the phases."""

import math

from helpers import begin

from hushbandits.bench.runner.curves import record
from hushbandits.core.rollout import rollout
from hushbandits.testing.games import same

#: Checkpoints of a curve: early, adjacent, at the end of short runs, and far.
POINTS = [1, 2, 3, 10, 11, 40, 777, 778]


def check_compiled(build, runs=8, left=lambda team: None):
    """Compiled rounds equal the phases exactly, also where a curve stops them; a run alone equals its row.

    `left` says what a team holds that must be the same afterwards.
    """
    env, team = build(runs)
    batch = rollout(env, team, 4)
    after = left(team)
    same(batch, rollout(env, team, 4, lambda: None), "compiled rounds and phases")
    same(after, left(team), "the state after compiled rounds and after phases")
    finals, curves = record(env, team, 4, POINTS, env.logged_metrics)
    team.episode = lambda *_: False
    same(finals, batch, "compiled rounds with and without stops")
    same(curves, record(env, team, 4, POINTS, env.logged_metrics)[1], "curves of compiled rounds and of phases")
    r = runs // 2
    row = {name: values[r : r + 1] for name, values in batch.items()}
    same(rollout(*build(1), env.seeds[r : r + 1]), row, "a run alone and its row, compiled,")


def has_episode(build):
    """Return whether a run uses compiled rounds."""
    env, team = build(2)
    begin(env, team, 0)
    return team.episode(env)


def by_phases(core, team, rounds=math.inf):
    """Play at most so many rounds by phases."""
    obs = core._seen()
    while obs.running.any() and rounds > 0:
        obs = core.pull(team.act(obs))
        obs = core.communicate(team.compose(obs.reward))
        team.receive(obs.inbox)
        rounds -= 1
