"""Rounds per second of private exploration: stepwise beats, compiled episode, and a hand-written loop.

Run: ``python benchmarks/exploration.py``.  Timings wander with the machine: compare the rows of one run.
"""

import time

import numba
import numpy as np

import hushbandits as hb
from hushbandits.core.play import play
from hushbandits.registry import assemble


@numba.njit
def hand_written(seed, n_agents, means, epoch):
    """The least a DP-MASE must do: draw an agent, draw its rewards, add them up; no votes, no tapes."""
    np.random.seed(seed)
    sums, pulls, rounds = np.zeros((n_agents, means.size)), np.zeros(n_agents), 0
    done = 0
    while done < 5:
        n = np.random.randint(n_agents)
        for k in range(means.size):
            sums[n, k] += np.random.random() < means[k]
        pulls[n] += 1
        rounds += 1
        done += pulls[n] == epoch
    return rounds


def timed(function):
    function()  # compile
    start = time.perf_counter()
    rounds = function()
    return rounds / (time.perf_counter() - start)


def episode(env_id, agent, n_agents, runs, **kwargs):
    def once():
        team = hb.make_team(agent, **kwargs)
        return play(assemble(env_id, team, runs=runs, env={"n_agents": n_agents}), team)["rounds"].sum()

    return once


def beats(agent, n_agents, runs, steps, **kwargs):
    def once():
        team = hb.make_team(agent, **kwargs)
        env = assemble("DPMASE-v0", team, runs=runs, env={"n_agents": n_agents})
        obs = env.reset(0)
        team.reset(env, env.seeds)
        for _ in range(steps):
            obs = env.pull(team.act(obs))
            obs = env.talk(team.speak(obs.reward))
            team.hear(obs.inbox)
        return steps

    return once


def main():
    """Print the table."""
    means = np.array([0.7, 0.5, 0.3, *[0.1] * 7])
    rows = [
        ("DP-MASE, 1024 agents, ε = .05: episode", timed(episode("DPMASE-v0", "DP-MASE", 1024, 3, epsilon=0.05))),
        ("the same arithmetic by hand, no votes", timed(lambda: hand_written(0, 1024, means, 1403))),
        ("DP-MASE, 1024 agents: beats, 1 run", timed(beats("DP-MASE", 1024, 1, 20_000))),
        ("DP-MASE, 1024 agents: beats, 20 runs (steps)", timed(beats("DP-MASE", 1024, 20, 10_000))),
        (
            "Corrupted-Elimination, 256 agents: episode",
            timed(episode("CorruptedElimination-v0", "Corrupted-Elimination", 256, 3)),
        ),
        ("Independent, 64 agents: episode", timed(episode("DPMASE-v0", "Independent", 64, 10))),
    ]
    for name, rate in rows:
        print(f"{name:<48} {rate:>14,.0f} rounds/s")


if __name__ == "__main__":
    main()
