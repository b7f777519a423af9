"""Decentralized Elimination by hand, with SER3 and with Median Elimination; and the minimum work of DP-MASE.

Random numbers are NumPy's: rounds are equal in law to the package's.
"""

import math

import numba
import numpy as np

MEANS = (0.7, 0.5, 0.3, *[0.1] * 7)


@numba.njit
def leave(arms, size, passed, gone):
    """Remove an arm from an agent's list, of which the first `passed` have been pulled in this pass; return both."""
    for j in range(size):
        if arms[j] == gone:
            arms[j : size - 1] = arms[j + 1 : size]
            return size - 1, passed - (j < passed)
    return size, passed


@numba.njit
def losers_of_ser3(arms, size, sums, tau, eta, epsilon):
    """Move the arms that SER3 gives up after pass tau to the end of `arms`; return how many stay."""
    best, n_arms = arms[0], sums.size
    for k in arms[:size]:
        if sums[k] > sums[best] or (sums[k] == sums[best] and k < best):
            best = k
    gap, stay = 2.0 * math.sqrt(math.log(4.0 * n_arms * tau * tau / eta) / (2.0 * tau)), 0
    for j in range(size):
        if arms[j] == best or sums[best] / tau - sums[arms[j]] / tau + epsilon < gap:
            arms[stay], arms[j] = arms[j], arms[stay]
            stay += 1
    return stay


@numba.njit
def losers_of_median(arms, size, sums, pulls):
    """Move the lower half of the arms to the end of `arms`, the later ones of equal ones; return how many stay."""
    stay = size
    for _ in range(size // 2):
        worst = 0
        for j in range(stay):
            a, b = arms[j], arms[worst]
            ahead = sums[a] * pulls[b] - sums[b] * pulls[a]  # of the means
            if ahead < 0 or (ahead == 0 and a > b):
                worst = j
        gone = arms[worst]
        arms[worst : stay - 1] = arms[worst + 1 : stay]
        stay -= 1
        arms[stay] = gone
    return stay


@numba.njit
def decentralized(seed, means, n_agents, needed, eta, epsilon, ser3):
    """Play one run over SER3 or Median Elimination; return the number of rounds."""
    np.random.seed(seed)
    means, n_arms = np.random.permutation(means), means.size
    arms, size, passed = np.empty((n_agents, n_arms), np.int64), np.full(n_agents, n_arms), np.zeros(n_agents, np.int64)
    sums, pulls, tau = np.zeros((n_agents, n_arms)), np.zeros((n_agents, n_arms)), np.zeros(n_agents, np.int64)
    read, stage = np.zeros(n_agents, np.int64), np.zeros(n_agents)
    votes, removed, left, rounds = np.zeros(n_arms, np.int64), np.empty(n_arms, np.int64), n_arms, 0
    arms[:] = np.arange(n_arms)
    single, several = 0, n_agents  # agents that hold one arm, and that hold more
    while single < n_agents and left > 0 and (left == 1 or several > 0):
        n = int(np.random.random() * n_agents)
        rounds += 1
        before = size[n]
        if read[n] < n_arms - left:  # what has been voted out since the agent's last activation
            for gone in removed[read[n] : n_arms - left]:
                size[n], passed[n] = leave(arms[n], size[n], passed[n], gone)
            read[n] = n_arms - left
            if left == 1:
                size[n] = 1
        if size[n] > 1:
            j = passed[n] % size[n]
            if j == 0 and passed[n]:  # the arms still to be pulled in this pass have been voted out
                passed[n] = 0
                tau[n] += 1
            if ser3:
                i = j + int(np.random.random() * (size[n] - j))
                arms[n, i], arms[n, j] = arms[n, j], arms[n, i]
            k = arms[n, j]
            sums[n, k] += np.random.random() < means[k]
            pulls[n, k] += 1.0
            passed[n] = j + 1
            stay = size[n]
            if ser3:
                if passed[n] == size[n]:
                    passed[n] = 0
                    tau[n] += 1
                    stay = losers_of_ser3(arms[n], size[n], sums[n], float(tau[n]), eta, epsilon)
            else:
                done = tau[n] + (passed[n] == size[n])
                precision = epsilon / 4.0 * 0.75 ** stage[n]
                if passed[n] == size[n]:
                    passed[n] = 0
                    tau[n] = done
                if done >= math.ceil(4.0 / (precision * precision) * math.log(3.0 * 2.0 ** (stage[n] + 1.0) / eta)):
                    stay = losers_of_median(arms[n], size[n], sums[n], pulls[n])
                    sums[n], pulls[n], tau[n], passed[n] = 0.0, 0.0, 0, 0
                    stage[n] += 1.0
            for k in arms[n, stay : size[n]]:
                votes[k] += 1
                if votes[k] == needed:
                    removed[n_arms - left] = k
                    left -= 1
            size[n] = stay
        single += (size[n] == 1) - (before == 1)
        several += (size[n] > 1) - (before > 1)
    return rounds


def by_hand(agent, seeds, n_agents=64, eta=0.9, delta=0.05, epsilon=0.25):
    """Play Decentralized-SER3 or Decentralized-Median; return the rounds of every run."""
    needed, ser3 = math.floor(math.log(delta) / math.log(eta)), agent == "Decentralized-SER3"
    means = np.array(MEANS)
    return np.array([decentralized(s, means, n_agents, needed, eta, epsilon, ser3) for s in seeds])


@numba.njit
def least_of_dp_mase(seed, n_agents):
    """Run the minimum work of DP-MASE for 1,403 activations of five agents: select one, draw its rewards, add up."""
    np.random.seed(seed)
    sums, pulls, rounds, done = np.zeros((n_agents, 10)), np.zeros(n_agents), 0.0, 0
    while done < 5:
        n = np.random.randint(n_agents)
        for k in range(10):
            sums[n, k] += np.random.random() < (0.7 if k == 0 else 0.5 if k == 1 else 0.3 if k == 2 else 0.1)
        pulls[n] += 1
        rounds += 1
        done += pulls[n] == 1403
    return rounds
