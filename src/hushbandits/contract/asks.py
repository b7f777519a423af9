"""What every game is asked, wherever it was built: each raises ``AssertionError`` where a promise breaks."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping

import numpy as np

from hushbandits.core.env import Env
from hushbandits.core.face import Face
from hushbandits.core.ground.types import Array, Seeds
from hushbandits.core.luck.tapes import run_seeds
from hushbandits.core.play import meet, play, record
from hushbandits.core.team import Team
from hushbandits.testing.parts import Built
from hushbandits.testing.seen import required, same

__all__ = ["alone", "compiled", "copied", "has_episode", "pickled", "same_row", "trace"]

#: Rounds that are pickled, and after how many a game is left.
PICKLED, ENOUGH = 8, 60
#: Where a curve has a point: early, side by side, where short games end, and far.
POINTS = [1, 2, 3, 10, 11, 40, 777, 778]

Round = dict[str, Array]


def trace(env: Env, team: Team, seeds: int | Seeds) -> tuple[list[Round], Mapping[str, Array]]:
    """Play by the beats; return every reward, inbox slot and acting agent by round, and the final metrics."""
    meet(env, team)
    obs = env.reset(seeds)
    team.reset(Face(env), env.seeds)
    rounds = []
    while obs.live.any():
        seen = {"live": obs.live.copy(), "who": obs.who.copy()}
        obs = env.pull(team.act(obs))
        if obs.reward is not None:  # else withheld
            seen["own reward"] = obs.reward.copy()
        obs = env.talk(team.speak(obs.reward))  # type: ignore[arg-type]
        assert obs.inbox is not None
        seen["arrived"] = obs.inbox.arrived.copy()
        seen |= {f"own {field}": value.copy() for field, value in obs.inbox.own.items()}
        seen |= {field: np.array(obs.inbox[field]) for field in obs.inbox.fields}
        team.hear(obs.inbox)
        rounds.append(seen)
    return rounds, env.metrics()


def same_row(
    single: tuple[list[Round], Mapping[str, Array]], batch: tuple[list[Round], Mapping[str, Array]], r: int
) -> None:
    """Raise ``AssertionError`` unless a run that is alone in its trace is row `r` of a batch's, slot by slot."""
    (ones, metrics), (rows, all_metrics) = single, batch
    for t, (one, many) in enumerate(zip(ones, rows, strict=False), 1):
        required(bool(many["live"][r]), f"run {r} goes on in round {t} alone, and not in its batch")
        for key, value in one.items():
            row = many[key][r : r + 1]
            if value.shape != row.shape:  # slots are padded to the widest run of the batch
                width = value.shape[2]
                required(not many["arrived"][r, :, width:].any(), f"run {r}, round {t}: more arrives in its batch")
                row = row[:, :, :width]
            same(value, row, f"run {r} alone and its row of a batch, round {t}, {key},")
    goes_on = len(ones) < len(rows) and bool(rows[len(ones)]["live"][r])
    required(not goes_on, f"run {r} ends after round {len(ones)} alone, and not in its batch")
    for key, value in metrics.items():
        same(value[0], all_metrics[key][r], f"run {r} alone and its row of a batch, {key},")


def alone(build: Built) -> None:
    """A run alone is its row of a batch, slot by slot."""
    seeds = run_seeds(3, 3)
    same_row(trace(*build(1), seeds[2:]), trace(*build(3), seeds), 2)


def pickled(build: Built) -> None:
    """A game ends with the same numbers where all that there is goes through a pickle after every beat."""
    one, two = (_beaten(build(2), between) for between in (copied, _left))
    same(one, two, "a game that is pickled after every beat, and one that is not,")


def compiled(build: Built, runs: int = 4, left: Callable[[Team], object] = lambda team: None) -> None:
    """Compiled rounds end with the bits of the beats, also where a curve stops them, and a run alone is its row.

    `left` says what a team holds that must be the same afterwards.
    """
    env, team = build(runs)
    batch = play(env, team, 4)
    after = left(team)
    same(batch, play(env, team, 4, _nothing), "compiled rounds and beats")
    same(after, left(team), "what is left by compiled rounds and by beats")
    curves = []
    for _ in range(2):
        curves.append(record(env, team, 4, POINTS, env.curve_metrics))
        team.episode = lambda *_: False  # type: ignore[method-assign]
    same(curves[0][0], batch, "compiled rounds with and without stops")
    same(curves[0][1], curves[1][1], "curves of compiled rounds and of beats")
    r = runs // 2
    single = play(*build(1), run_seeds(4, runs)[r : r + 1])
    same(single, {name: values[r : r + 1] for name, values in batch.items()}, "a run alone and its row, compiled,")


def has_episode(build: Built) -> bool:
    """Whether a game is played in compiled rounds."""
    env, team = build(2)
    env.reset(0)
    team.reset(Face(env), env.seeds)
    return bool(team.episode(env))


def _beaten(game: tuple[Env, Team], between: Callable[..., tuple]) -> Mapping[str, Array]:
    """Final metrics of a game by the beats; something is done to all that there is after each of the first."""
    env, team = between(*game)
    obs = env.reset(7)
    team.reset(Face(env), env.seeds)
    for t in range(ENOUGH):
        if not obs.live.any():
            break
        through = between if t < PICKLED else _left
        env, team, obs = through(env, team, env.pull(team.act(obs)))
        env, team, obs = through(env, team, env.talk(team.speak(obs.reward)))
        assert obs.inbox is not None
        team.hear(obs.inbox)
    return env.metrics()


def copied(*state: object) -> tuple:
    """Return what a pickle makes of some objects that belong together."""
    out: tuple = pickle.loads(pickle.dumps(state))
    return out


def _left(*state: object) -> tuple:
    return state


def _nothing() -> None:
    pass
