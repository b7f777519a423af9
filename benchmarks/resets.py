"""Nanoseconds of an agent's step if runs end at different times: ``python -m benchmarks resets [TURNS]``.

Random play of the short ids in `hb.make_vec`, 256 runs each, in turns; the least counts, and the ratio is to the id
whose runs all end together.
"""

import hushbandits as hb
from benchmarks.clock import least

IDS = {"CoopNetwork-Train-v0": 200, "DPMASE-Train-v0": 20, "DistDP-Train-v0": 20}  # steps per turn
RUNS, ACTIONS, WARM = 256, 64, 400


def game(env_id, steps):
    """Return the time of a turn of random play, and its number of steps of single agents."""
    env = hb.make_vec(env_id, RUNS)
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(ACTIONS)]

    def play(many=steps):
        for i in range(many):
            env.step(actions[i % ACTIONS])

    play(WARM)
    return play, steps * env.num_envs


def main(turns="40"):
    games = {env_id: game(env_id, steps) for env_id, steps in IDS.items()}
    found = least({env_id: play for env_id, (play, _) in games.items()}, int(turns))
    each = {env_id: 1e9 * seconds / games[env_id][1] for env_id, seconds in found.items()}
    for env_id, cost in each.items():
        print(f"{env_id:<24}{cost:>8,.0f} ns {cost / min(each.values()):>6.1f}×")
