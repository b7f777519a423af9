"""AdaP of Azize & Basu 2022, user by user."""

import math

from naive_laws import kl, kl_edge
from twin_streams import Steps, generator
from twins_chowdhury import naive_users


def _kl_index(m, level):
    last = 1 - 2**-53
    return 1.0 if m == 1 or kl(m, last) <= level else kl_edge(m, level, last)


def naive_adap(env, r, name, epsilon, alpha):
    """Return the regret of one run with one server, and its episodes: (arm, length) in order."""
    noise, coin = generator(env.seeds[r], "wrapper/CentralLaplace", 1), Steps(env.seeds[r], f"agent/{name}")
    arms, t, block, regret, episodes = range(env.n_arms), 0, 0, 0.0, []
    pulled, last, mean = [0] * env.n_arms, [0] * env.n_arms, [0.0] * env.n_arms
    while t < env.horizon:
        index = []
        for a in arms:
            n, s = max(last[a], 1), t + 1
            if name == "AdaP-UCB":
                index.append(
                    mean[a] + math.sqrt(alpha * math.log(2 * s) / (2 * n)) + alpha * math.log(s) / (epsilon * n)
                )
            else:
                m = min(max(mean[a] + alpha * math.log(s) / (epsilon * n), 0.0), 1.0)
                index.append(_kl_index(m, alpha * math.log(s) / n))
        ties = [a for a in arms if index[a] == max(index)]
        drawn = ties[int(coin.random() * len(ties))]
        arm = pulled.index(0) if 0 in pulled else drawn
        length = min(max(pulled[arm], 1), env.horizon - t)
        total = sum(naive_users(env, r, block, arm, length)) + noise.laplace(0, 1 / epsilon)
        mean[arm], last[arm] = total / length, length
        pulled[arm] += length
        t, block, regret = t + length, block + 1, regret + length * env.gaps[r, arm]
        episodes.append((arm, length))
    return regret, episodes
