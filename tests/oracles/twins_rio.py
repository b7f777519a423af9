"""Rio et al. 2023 one scalar at a time: DP-MASE, Corrupted Elimination and the two baselines."""

import math

import numba
import numpy as np
from naive_laws import epoch, naive_laplace
from twin_streams import Steps, generator


def dp_mase(seed, n_agents, means, epsilon, delta, beta, weights):
    """Algorithms 2 and 4 of Rio et al. 2023, one scalar at a time, on the same random streams."""
    k_arms = len(means)
    threshold = math.floor(math.log(delta) / math.log(beta))
    turn, uniforms, noise = Steps(seed, "activation"), Steps(seed, "reward"), generator(seed, "agent/DP-MASE/noise")
    everyone = {n for n in range(n_agents) if weights[n] > 0}
    agents = [{"set": set(range(k_arms)), "sum": [0.0] * k_arms, "e": 1, "t": 0, "m": k_arms} for _ in range(n_agents)]
    active, voters, rounds = set(range(k_arms)), [set() for _ in range(k_arms)], 0
    order = sorted(everyone)
    while len(active) > 1 and order:
        u, total = turn.random(), math.fsum(weights[n] for n in order)
        n, run = order[-1], 0.0
        for candidate in order:
            run += weights[candidate]
            if run > u * total:
                n = candidate
                break
        x = [float(p < mean) for p, mean in zip(uniforms.random(k_arms), means, strict=True)]
        me = agents[n]
        if len(me["set"]) <= 1:
            order.remove(n)
            continue
        rounds += 1
        for k in me["set"]:
            me["sum"][k] += x[k]
        me["t"] += 1
        length, width = epoch(me["m"], me["e"], epsilon, beta)
        if me["t"] < length:
            continue
        u = noise.random(k_arms)
        noisy = {k: me["sum"][k] / length + naive_laplace(u[k], 1 / (epsilon * length)) for k in me["set"]}
        best = max(noisy.values())
        out = {k for k in noisy if best - noisy[k] > width}
        for k in out:
            voters[k].add(n)
            if len(voters[k]) > threshold:
                active.discard(k)
        me["set"] = (me["set"] - out) & active
        me.update(sum=[0.0] * k_arms, t=0, e=me["e"] + 1, m=len(me["set"]))
    return rounds, active, sum(len(v) for v in voters)


@numba.njit
def dp_mase_rounds(seed, n_agents, means, epsilon, delta, beta):  # pragma: no cover
    """An independent DP-MASE with its own randomness, for its law."""
    np.random.seed(seed)  # Numba's own generator, not NumPy's
    k_arms = means.size
    threshold = math.floor(math.log(delta) / math.log(beta))
    alive = np.ones((n_agents, k_arms), np.bool_)
    total = np.zeros((n_agents, k_arms))
    steps = np.zeros(n_agents, np.int64)
    epoch = np.ones(n_agents, np.int64)
    size = np.full(n_agents, k_arms)
    finished = np.zeros(n_agents, np.bool_)
    votes, active = np.zeros(k_arms, np.int64), np.ones(k_arms, np.bool_)
    rounds = 0
    while active.sum() > 1 and not finished.all():
        n = np.random.randint(n_agents)
        if finished[n]:
            continue
        rounds += 1
        steps[n] += 1
        for k in range(k_arms):
            if alive[n, k] and np.random.random() < means[k]:
                total[n, k] += 1
        m, e = size[n], epoch[n]
        gap = 0.5**e
        a = 32 * math.log(8 * m * e * e / beta) / gap**2
        b = 8 * math.log(4 * m * e * e / beta) / (epsilon * gap)
        length = math.floor(max(a, b)) + 1
        if steps[n] < length:
            continue
        bound = 2 * math.sqrt(math.log(8 * m * e * e / beta) / (2 * length)) + 2 * math.log(4 * m * e * e / beta) / (
            epsilon * length
        )
        noisy = np.full(k_arms, -np.inf)
        for k in range(k_arms):
            if alive[n, k]:
                noise = np.random.exponential(1.0) - np.random.exponential(1.0)
                noisy[k] = total[n, k] / length + noise / (epsilon * length)
        top = noisy.max()
        for k in range(k_arms):
            if alive[n, k] and top - noisy[k] > bound:
                votes[k] += 1
                alive[n, k] = False
                if votes[k] > threshold:
                    active[k] = False
        alive[n] &= active
        total[n] = 0
        steps[n] = 0
        epoch[n] += 1
        size[n] = alive[n].sum()
        finished[n] = size[n] <= 1
    return rounds


def corrupted_elimination(seed, n_agents, means, p, needed, xi=0.0, shared=False, alone=False):
    """Algorithm 3 of Rio et al. 2023 (and the baselines) one scalar at a time, on the same random streams."""
    k_arms = len(means)
    turn, uniforms = Steps(seed, "activation"), Steps(seed, "reward")
    mask = generator(seed, "wrapper/VoteCorruption/drop")
    order = list(range(n_agents))
    agents = [{"set": set(range(k_arms)), "sum": [0.0] * k_arms, "t": 0} for _ in range(n_agents)]
    active, voters, sent, rounds = set(range(k_arms)), [set() for _ in range(k_arms)], 0, 0
    while len(active) > 1 and order:
        n = order[min(int(turn.random() * len(order)), len(order) - 1)]
        x = [float(u < mean) for u, mean in zip(uniforms.random(k_arms), means, strict=True)]
        me = agents[0 if shared else n]
        if len(me["set"]) <= 1:
            order.remove(n)
            continue
        rounds += 1
        me["t"] += 1
        for k in me["set"]:
            me["sum"][k] += x[k]
        t = me["t"]
        mean = {k: me["sum"][k] / t for k in me["set"]}
        out = {k for k in mean if max(mean.values()) - mean[k] >= 2 * math.sqrt(math.log(k_arms * t * t / p) / t)}
        kept = mask.random(k_arms) >= xi if out and xi > 0 else [True] * k_arms
        for k in out:
            if kept[k]:
                sent += 1
                voters[k].add(n)
                if len(voters[k]) >= needed:
                    active.discard(k)
        me["set"] = me["set"] - out
        if not alone:
            me["set"] &= active
    held = [a["set"] for a in agents]
    return {"rounds": rounds, "sent": sent, "active": active, "held": held}
