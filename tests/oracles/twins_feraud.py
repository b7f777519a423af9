"""Féraud et al. 2019 one scalar at a time, from the papers: routines, the vote, and the two baselines."""

import math

from naive_laws import kl_edge
from twin_streams import Steps


class Player:
    """Bookkeeping that all routines share; `arms` is 𝒦_n."""

    def __init__(self, k_arms, eta, epsilon):
        self.k_arms, self.eta, self.epsilon = k_arms, eta, epsilon
        self.arms = list(range(k_arms))
        self.n = [0] * k_arms
        self.x = [0.0] * k_arms

    def mean(self, k):
        return self.x[k] / self.n[k]

    def take(self, k, reward):
        self.n[k] += 1
        self.x[k] += reward

    def next_in_pass(self):
        least = min(self.n[k] for k in self.arms)
        return [k for k in self.arms if self.n[k] == least]

    def best(self):
        return max(self.arms, key=lambda k: (self.mean(k), -k))

    def choose(self, dice):
        return self.next_in_pass()[0]

    def commit(self, best):
        return {k for k in self.arms if k != best}


class Naive(Player):
    def learn(self, k, reward):
        self.take(k, reward)
        need = math.ceil(4 / self.epsilon**2 * math.log(2 * self.k_arms / self.eta))
        return self.commit(self.best()) if all(self.n[k] >= need for k in self.arms) else set()


class Median(Player):
    def __init__(self, *args):
        super().__init__(*args)
        self.e, self.h = self.epsilon / 4, self.eta / 2

    def learn(self, k, reward):
        self.take(k, reward)
        need = math.ceil(4 / self.e**2 * math.log(3 / self.h))
        if any(self.n[k] < need for k in self.arms):
            return set()
        ranked = sorted(self.arms, key=lambda k: (-self.mean(k), k))
        self.e, self.h = 0.75 * self.e, 0.5 * self.h
        self.n, self.x = [0] * self.k_arms, [0.0] * self.k_arms
        return set(ranked[(len(ranked) + 1) // 2 :])


class SE(Player):
    def learn(self, k, reward):
        self.take(k, reward)
        tau = self.n[k]
        if any(self.n[j] != tau for j in self.arms):
            return set()
        best, radius = self.best(), math.sqrt(math.log(4 * self.k_arms * tau**2 / self.eta) / (2 * tau))
        return {j for j in self.arms if j != best and self.mean(best) - self.mean(j) + self.epsilon >= 2 * radius}


class SER3(SE):
    def choose(self, dice):
        due = self.next_in_pass()
        return due[int(dice[0] * len(due))]


class KLRacing(Player):
    def learn(self, k, reward):
        self.take(k, reward)
        tau = self.n[k]
        if any(self.n[j] != tau for j in self.arms):
            return set()
        best = self.best()
        worst = min((j for j in self.arms if j != best), key=lambda j: (self.mean(j), -j))
        level = math.log(405.5 * self.k_arms * tau**1.1 / self.eta) / tau
        close = kl_edge(self.mean(worst), level, 1) - kl_edge(self.mean(best), level, 0) < self.epsilon
        return {worst} if close else set()


class LUCB(Player):
    def __init__(self, *args):
        super().__init__(*args)
        self.t, self.pair = 1, []

    def upper(self, k):
        return self.mean(k) + math.sqrt(math.log(5 * self.k_arms * self.t**4 / (4 * self.eta)) / (2 * self.n[k]))

    def lower(self, k):
        return self.mean(k) - math.sqrt(math.log(5 * self.k_arms * self.t**4 / (4 * self.eta)) / (2 * self.n[k]))

    def duel(self):
        best = self.best()
        return best, max((k for k in self.arms if k != best), key=lambda k: (self.upper(k), -k))

    def choose(self, dice):
        if any(self.n[k] == 0 for k in self.arms):
            return self.next_in_pass()[0]
        if self.pair and self.pair[0] in self.arms:
            return self.pair[0]
        best, rival = self.duel()
        self.pair = [best, rival]
        return best

    def learn(self, k, reward):
        self.take(k, reward)
        if any(self.n[k] == 0 for k in self.arms):
            return set()
        if len(self.pair) == 2:
            self.pair = self.pair[1:]
            return set()
        if self.pair:
            self.pair, self.t = [], self.t + 1
        best, rival = self.duel()
        return self.commit(best) if self.upper(rival) - self.lower(best) < self.epsilon else set()


class KLLUCB(LUCB):
    def level(self, k):
        return math.log(405.5 * self.k_arms * self.t**1.1 / self.eta) / self.n[k]

    def upper(self, k):
        return kl_edge(self.mean(k), self.level(k), 1)

    def lower(self, k):
        return kl_edge(self.mean(k), self.level(k), 0)


class UGapEc(Player):
    def radius(self, k):
        t = sum(self.n) + 1
        return math.sqrt(0.5 * math.log(4 * self.k_arms * (t - 1) ** 3 / self.eta) / self.n[k])

    def b(self, k):
        return max(self.mean(j) + self.radius(j) for j in self.arms if j != k) - (self.mean(k) - self.radius(k))

    def choose(self, dice):
        if any(self.n[k] == 0 for k in self.arms):
            return self.next_in_pass()[0]
        best = min(self.arms, key=lambda k: (self.b(k), k))
        rivals = [k for k in self.arms if k != best]
        rival = max(rivals, key=lambda k: (self.mean(k) + self.radius(k), -k))
        return rival if self.radius(rival) > self.radius(best) else best

    def learn(self, k, reward):
        self.take(k, reward)
        if any(self.n[k] == 0 for k in self.arms):
            return set()
        best = min(self.arms, key=lambda k: (self.b(k), k))
        return self.commit(best) if self.b(best) < self.epsilon else set()


TWINS = {
    "Naive": Naive, "Median": Median, "SE": SE, "SER3": SER3, "KL-Racing": KLRacing, "LUCB": LUCB,
    "KL-LUCB": KLLUCB, "UGapEc": UGapEc,
}  # fmt: skip


def draw(turn, weights):
    u, total, run = turn.random(), math.fsum(weights), 0.0
    for n, weight in enumerate(weights):
        run += weight
        if run > u * total:
            return n
    raise AssertionError


def run(seed, routine, role, *, means, weights, epsilon, delta, eta, drift=0.0):
    """Algorithm 2 of Féraud et al. 2019 (or a baseline) on the random streams of one run."""
    k_arms, n_agents = len(means), len(weights)
    needed = math.floor(math.log(delta) / math.log(eta))
    confidence = {"Decentralized": eta, "0-Privacy": delta, "1-Privacy": delta / n_agents}[role]
    players = [TWINS[routine](k_arms, confidence, epsilon) for _ in range(n_agents)]
    turn, uniforms = Steps(seed, "activation"), Steps(seed, "reward")
    dice = Steps(seed, f"agent/{role}-{routine}/draws")
    kept, voters, rounds, sent = list(range(k_arms)), [set() for _ in means], 0, 0
    while True:
        n = draw(turn, weights)
        me = players[0 if role == "0-Privacy" else n]
        if len(kept) == 1:
            me.arms = list(kept)
        elif role != "1-Privacy":
            me.arms = [k for k in me.arms if k in kept]
        u = uniforms.random(k_arms)
        die = dice.random(1) if routine == "SER3" else None
        if len(me.arms) > 1:
            k = me.choose(die)
            mean = means[k] if means[k] == max(means) else max(0.0, means[k] - drift * rounds)
            out = me.learn(k, float(u[k] < mean))
            me.arms = [k for k in me.arms if k not in out]
            for k in out:
                sent += 1
                voters[k].add(n)
                enough = 1 if role == "0-Privacy" else needed
                if role != "1-Privacy" and len(voters[k]) >= enough:
                    kept.remove(k)
        rounds += 1
        held = [p.arms for p in players]
        if role == "0-Privacy":
            if len(kept) <= 1:
                return {"rounds": rounds, "messages": (n_agents - 1) * rounds, "held": [kept], "arms": len(kept)}
            continue
        stuck = len(kept) > 1 and all(len(arms) <= 1 for arms in held)
        if all(len(arms) == 1 for arms in held) or stuck or not kept:
            messages = sent if role == "Decentralized" else 0
            return {"rounds": rounds, "messages": messages, "held": held, "arms": len(kept)}


def run_ser4(seed, role, *, means, n_agents, epsilon, delta, phi, horizon, eta=None):
    """SER4 by hand, with rewards and regret; means of the second half are those of the first, moved on by one."""
    confidence = {"Decentralized": eta, "0-Privacy": delta, "1-Privacy": delta / n_agents}[role]
    needed = {
        "Decentralized": eta and math.floor(math.log(delta) / math.log(eta)),
        "0-Privacy": 1,
        "1-Privacy": math.inf,
    }
    turn, uniforms = Steps(seed, "activation"), Steps(seed, "reward")
    dice = Steps(seed, f"agent/{role}-SER4/draws")

    def afresh():
        return [SER3(len(means), confidence, epsilon) for _ in range(n_agents)]

    def unvoted():
        return list(range(len(means))), [set() for _ in means]

    players, (kept, voters) = afresh(), unvoted()
    regret, shown, resets = 0.0, 0, 0
    for t in range(horizon):
        n = draw(turn, [1 / n_agents] * n_agents)
        now = means if t < horizon / 2 else [means[-1], *means[:-1]]
        u, die = uniforms.random(len(means)), dice.random(2)
        me = players[n := 0 if role == "0-Privacy" else n]
        me.arms = list(kept) if len(kept) == 1 else [k for k in me.arms if k in kept]
        if not me.arms:
            k = kept[int(die[0] * len(kept))] if kept else None
        else:
            k = me.choose(die) if len(me.arms) > 1 else me.arms[0]
        if k is not None:
            regret += max(now) - now[k]
            if die[1] < phi:
                shown, resets = shown + 1, resets + 1
                if role == "1-Privacy":  # no other player receives it
                    players[n] = afresh()[n]
                else:
                    players, (kept, voters) = afresh(), unvoted()
                continue
        if len(me.arms) > 1:
            out = me.learn(k, float(u[k] < now[k]))
            me.arms = [j for j in me.arms if j not in out]
            for j in out:
                shown += 1
                voters[j].add(n)
                if len(voters[j]) >= needed[role]:
                    kept.remove(j)
    messages = {"Decentralized": shown, "0-Privacy": (n_agents - 1) * horizon, "1-Privacy": 0}[role]
    return regret, messages, len(kept), resets
