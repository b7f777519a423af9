"""Messages that a network delivered, post by post."""

import numpy as np


def posts_seen(env, rounds):
    """Post (round, agent) codes as rewards; return each agent's inbox per round."""
    env.reset(0)
    m = env.n_agents
    seen = []
    for t in range(1, rounds + 1):
        env.pull(np.zeros((env.runs, m), int))
        code = np.tile(1000 * t + np.arange(m), (env.runs, 1))
        inbox = env.communicate({"arm": np.zeros((env.runs, m), int), "reward": code.astype(float)}).inbox
        arrived, reward = inbox.arrived, inbox["reward"]
        who = inbox["sender"] if "sender" in inbox.fields else None
        seen.append(
            [[sorted(reward[r, a][arrived[r, a]].astype(int).tolist()) for a in range(m)] for r in range(env.runs)]
        )
        if who is not None:
            assert (who[arrived] == reward[arrived] % 1000).all()
            assert (who[~arrived] == -1).all()
    return seen
