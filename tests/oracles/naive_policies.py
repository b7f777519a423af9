"""Single-agent policies one scalar at a time, directly from their papers: all samples are used for every choice.

Those that draw read the same words by `hushbandits.policies.draws`, itself tested apart, in the order that is said
here.
"""

import math

import numpy as np
from naive_estimators import naive_catoni, naive_median_of_means, naive_truncated
from naive_laws import kl, kl_edge

from hushbandits.policies import draws


class Naive:
    """Base of policies that remember every reward of every arm; a subclass chooses the arm."""

    def __init__(self, arms, plays, words=None, **params):
        self.arms, self.plays, self.words, self.params = arms, plays, words, params
        self.samples = [[] for _ in range(arms)]
        self.begin(**params)

    def begin(self):
        pass

    @property
    def t(self):
        return 1 + sum(len(xs) for xs in self.samples)

    def n(self, k):
        return len(self.samples[k])

    def mean(self, k):
        return math.fsum(self.samples[k]) / self.n(k)

    def update(self, arm, x):
        self.samples[arm].append(x)

    def uniform(self):
        return draws.uniform(self.words, 0)

    def below(self, n):
        return draws.below(self.words, 0, n)

    def agrees(self, arm):
        """Return whether this is the arm that it plays."""
        return self.choose() == arm


class Index(Naive):
    """The arm of the largest index, each arm once first, the lowest one on ties."""

    def forced(self, k):
        return self.n(k) == 0

    def indices(self):
        return [math.inf if self.forced(k) else self.index(k) for k in range(self.arms)]

    def choose(self):
        found = self.indices()
        return found.index(max(found))

    def agrees(self, arm):
        """Indices up to rounding; arms with equal samples tie exactly."""
        found = self.indices()
        best = found.index(max(found))
        if arm == best:
            return True
        same = sorted(self.samples[arm]) == sorted(self.samples[best])
        return not same and found[arm] < math.inf and math.isclose(found[arm], found[best], rel_tol=1e-9, abs_tol=1e-9)


class UCB1(Index):
    def index(self, k):
        return self.mean(k) + math.sqrt(2 * math.log(self.t) / self.n(k))


class UCB(Index):
    def begin(self, sigma=0.5, delta=None):
        self.sigma, self.delta = sigma, delta or 1 / self.plays**2

    def index(self, k):
        return self.mean(k) + self.sigma * math.sqrt(2 * math.log(1 / self.delta) / self.n(k))


class MOSS(Index):
    def index(self, k):
        return self.mean(k) + math.sqrt(max(math.log(self.plays / (self.arms * self.n(k))), 0) / self.n(k))


class UCBV(Index):
    def begin(self, zeta=1.2, bound=1.0):
        self.zeta, self.bound = zeta, bound

    def index(self, k):
        n, explored, mean = self.n(k), self.zeta * math.log(self.t), self.mean(k)
        variance = math.fsum((x - mean) ** 2 for x in self.samples[k]) / n
        return mean + math.sqrt(2 * variance * explored / n) + 3 * self.bound * explored / n


class KLUCB(Index):
    def begin(self, c=0.0):
        self.c = c

    def index(self, k):
        level = math.log(self.t) + (self.c * math.log(math.log(self.t)) if math.log(self.t) > 1 else 0)
        return kl_edge(self.mean(k), level / self.n(k), 1)


class IMED(Index):
    def index(self, k):
        best = max(self.mean(j) for j in range(self.arms) if self.n(j))
        return -(self.n(k) * kl(self.mean(k), best) + math.log(self.n(k)))


class Robust(Index):
    def begin(self, moment=1.0, excess=1.0):
        self.u, self.e = moment, excess

    def index(self, k):
        n, level = self.n(k), math.log(self.t**2)
        if level == 0:
            return math.fsum(self.samples[k]) / n
        power = 1 / (1 + self.e)
        mean = naive_truncated(self.samples[k], math.exp(-level), self.u, self.e)
        return mean + 4 * self.u**power * (level / n) ** (self.e * power)


class Medians(Robust):
    def index(self, k):
        n, level = self.n(k), math.log(self.t**2)
        power = 1 / (1 + self.e)
        mean = naive_median_of_means(self.samples[k], math.exp(-level))
        return mean + (12 * self.u) ** power * (16 * (1 / 8 + level) / n) ** (self.e * power)


class Catoni(Index):
    def begin(self, variance=0.25):
        self.v = variance

    def forced(self, k):
        return self.n(k) == 0 or self.n(k) < 4 * math.log(self.t**2)

    def index(self, k):
        xs, level = self.samples[k], math.log(self.t**2)
        mean = xs[0] if min(xs) == max(xs) else naive_catoni(xs, math.exp(-level), self.v)
        return mean + 2 * math.sqrt(self.v * level / self.n(k))


class LaplaceUCB(Index):
    def begin(self, epsilon=1.0):
        self.epsilon = epsilon

    def forced(self, k):
        return self.n(k) <= 4 * math.log(self.t + 1)

    def index(self, k):
        n, log_t = self.n(k), math.log(self.t)
        return self.mean(k) + math.sqrt(2 * log_t / n) + math.sqrt(32 * log_t / (self.epsilon**2 * n))


class Thompson(Naive):
    """The largest of one Beta draw per arm (its law: tests/policies/test_draws.py); a coin for rewards in (0, 1)."""

    def begin(self):
        self.wins, self.losses = [1] * self.arms, [1] * self.arms

    def choose(self):
        return draws.largest_beta(self.words, 0, np.array(self.wins, float), np.array(self.losses, float), 0.0)

    def update(self, arm, x):
        won = self.uniform() < x if 0 < x < 1 else x >= 1
        (self.wins if won else self.losses)[arm] += 1


class GaussianThompson(Naive):
    """Arms in order, with a normal draw each."""

    def begin(self, sigma=1.0):
        self.sigma = sigma

    def choose(self):
        theta = [
            math.fsum(xs) / (len(xs) + 1) + self.sigma * draws.normal(self.words, 0) / math.sqrt(len(xs) + 1)
            for xs in self.samples
        ]
        return theta.index(max(theta))


def greedy(player):
    means = [player.mean(k) if player.n(k) else math.inf for k in range(player.arms)]
    return means.index(max(means))


class EpsilonGreedy(Naive):
    """A coin, and a random arm if it shows heads."""

    def begin(self, epsilon=None):
        self.epsilon = epsilon

    def choose(self):
        t = self.t
        epsilon = min(1, (self.arms * math.log(t) / t) ** (1 / 3)) if self.epsilon is None else self.epsilon
        return self.below(self.arms) if self.uniform() < epsilon else greedy(self)


def drawn(u, weights):
    """Return the first k at which the cumulative weights exceed the share u of their sum."""
    total = math.fsum(weights)
    return next((k for k in range(len(weights)) if u * total < math.fsum(weights[: k + 1])), len(weights) - 1)


class Softmax(Naive):
    """A coin, once every arm has been played."""

    def begin(self, temperature=0.05):
        self.temperature = temperature

    def choose(self):
        if not all(self.samples):
            return greedy(self)
        best = max(map(self.mean, range(self.arms)))
        return drawn(self.uniform(), [math.exp((self.mean(k) - best) / self.temperature) for k in range(self.arms)])


class EXP3(Naive):
    """A coin each time."""

    def begin(self, gamma=None):
        k, n = self.arms, self.plays
        self.gamma = min(1, math.sqrt(k * math.log(k) / ((math.e - 1) * n))) if gamma is None else gamma
        self.gains = [0.0] * k

    def choose(self):
        weights = [math.exp(self.gamma * (g - max(self.gains)) / self.arms) for g in self.gains]
        total = math.fsum(weights)
        self.p = [(1 - self.gamma) * w / total + self.gamma / self.arms for w in weights]
        return drawn(self.uniform(), self.p)

    def update(self, arm, x):
        self.gains[arm] += x / self.p[arm]


class Committed(Naive):
    def begin(self, m=None):
        n = self.plays
        self.m = math.ceil((n / self.arms) ** (2 / 3) * math.log(n) ** (1 / 3)) if m is None else m
        self.kept = None

    def choose(self):
        if self.t <= self.m * self.arms:
            return (self.t - 1) % self.arms
        if self.kept is None:
            self.kept = greedy(self)
        return self.kept


class BESA(Naive):
    """The order of the arms, shuffled from its end; then, in each duel, samples of the first and of the second arm."""

    def sample(self, k, m):
        """m rewards without replacement, walking from the newest to the oldest."""
        taken, newest = [], self.samples[k][::-1]
        for i, x in enumerate(newest):
            left, wanted = len(newest) - i, m - len(taken)
            if wanted == 0:
                break
            if left == wanted or self.uniform() * left < wanted:
                taken.append(x)
        return math.fsum(taken) / m

    def duel(self, a, b):
        m = min(self.n(a), self.n(b))
        if m == 0:
            return a if self.n(a) == 0 else b
        x, y = self.sample(a, m), self.sample(b, m)
        if x == y:
            return a if self.n(a) <= self.n(b) else b
        return a if x > y else b

    def choose(self):
        field = list(range(self.arms))
        for k in range(self.arms - 1, 0, -1):
            j = self.below(k + 1)
            field[k], field[j] = field[j], field[k]
        while len(field) > 1:
            rest = field[-1:] if len(field) % 2 else []
            field = [self.duel(field[i], field[i + 1]) for i in range(0, len(field) - 1, 2)] + rest
        return field[0]


class Relative(Naive):
    """A coin between the champion and the others, if there are both, and then one of the others."""

    def begin(self, alpha=0.51):
        self.alpha, self.duellists, self.champions = alpha, math.isqrt(self.arms), set()

    def won(self, i, j):
        # of the duels in which i was first and of those in which j was
        first, second = self.samples[i * self.duellists + j], self.samples[j * self.duellists + i]
        return sum(x > 0.5 for x in first) + sum(x <= 0.5 for x in second)

    def u(self, i, j):
        if i == j:
            return 0.5
        wins, losses = self.won(i, j), self.won(j, i)
        if wins + losses == 0:
            return 2.0
        return wins / (wins + losses) + math.sqrt(self.alpha * math.log(self.t) / (wins + losses))

    def choose(self):
        everyone = range(self.duellists)
        strong = [i for i in everyone if all(self.u(i, j) >= 0.5 for j in everyone)]
        self.champions &= set(strong)
        if len(strong) == 1:
            self.champions = set(strong)
        if not strong:
            first = self.below(self.duellists)
        elif len(strong) == 1:
            first = strong[0]
        elif self.champions and self.uniform() < 0.5:
            (first,) = self.champions
        else:
            others = [i for i in strong if i not in self.champions]
            first = others[self.below(len(others))]
        bounds = [self.u(j, first) for j in everyone]
        return first * self.duellists + bounds.index(max(bounds))


#: Twins by the name of the policy.
NAIVE = {
    "BESA": BESA, "EXP3": EXP3, "ETC": Committed, "IMED": IMED, "KL-UCB": KLUCB, "LDP-UCB-B": UCB1,
    "LDP-UCB-L": LaplaceUCB, "MOSS": MOSS, "RUCB": Relative, "Robust-UCB": Robust, "Robust-UCB-Catoni": Catoni,
    "Robust-UCB-MoM": Medians, "TS": Thompson, "TS-Gaussian": GaussianThompson, "UCB": UCB, "UCB-V": UCBV,
    "UCB1": UCB1, "epsilon-greedy": EpsilonGreedy, "softmax": Softmax,
}  # fmt: skip


def naive_policy(name, arms, plays, words=None, **params):
    """Return the twin of a policy; its random stream is a copy, one cursor."""
    own = None if words is None else np.array(words, np.uint64).reshape(1, -1)
    return NAIVE[name](arms, plays, own, **params)
