"""Make a PettingZoo env and step it by hand: four agents on a ring, each with its own epsilon-greedy rule.

Run it with ``python examples/step_by_hand.py``.
"""

import numpy as np

import hushbandits as hb


def greedy(env, observation, rng, explore=0.1):
    """Pull the arm with the best mean over what this agent pulled itself and heard from the others."""

    def part(name):
        return observation[env.layout[name]].astype(float)

    if rng.random() < explore:
        return int(rng.integers(env.core.n_arms))
    own, heard = (1 / part(f"{whose}_width") ** 2 - 1 for whose in ("own", "heard"))  # pulls: a width is 1/√(1 + n)
    mean = (own * part("own_mean") + heard * part("heard_mean")) / np.maximum(own + heard, 1)
    return int(mean.argmax())


def play(env, seed=0):
    """Play one episode; return its final metrics."""
    rng = np.random.default_rng(seed)
    observations, infos = env.reset(seed=seed)
    while env.agents:
        actions = {agent: greedy(env, observations[agent], rng) for agent in env.agents}
        observations, _rewards, _terminations, _truncations, infos = env.step(actions)
    return infos["agent_0"]["metrics"]


if __name__ == "__main__":
    env = hb.make("CoopNetwork-v0", n_agents=4, means=[0.8, 0.5, 0.5, 0.5], horizon=500, render_mode="ansi")
    alone = hb.make("CoopNetwork-v0", n_agents=4, means=[0.8, 0.5, 0.5, 0.5], horizon=500, max_hops=0)
    noisy = hb.wrap(env, hb.make_wrapper("Huber", rate=0.2), hb.make_wrapper("Loss", rate=0.2))
    for name, one in (("together", env), ("alone", alone), ("contaminated and lossy", noisy)):
        print(f"{name:>24}: regret {np.mean([play(one, seed)['regret'] for seed in range(5)]):6.1f}")
    print(env.render())
