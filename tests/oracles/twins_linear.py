"""Linear bandits one run at a time, from the papers' pseudo-code: every pull inverts matrices anew."""

import math

import numpy as np
from numpy.linalg import cholesky, det, inv, norm
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from twin_streams import Steps


class Chance:
    """Random numbers of a run: one NumPy generator, or the package's streams, by which actions are equal."""

    def __init__(self, seed, agent=None):
        names = {"features": "features", "turn": "activation", "noise": "reward", "tree": "wrapper/TreeGaussian/"}
        names["draws"] = f"agent/{agent}/draws"
        rng = np.random.default_rng(seed)
        self.of = {name: Steps(seed, stream) if agent else rng for name, stream in names.items()}

    def uniform(self, name, *shape):
        return self.of[name].random(shape)


def cube(rng, chance, agents, k, d):
    theta = np.ones(d) / math.sqrt(d)

    def contexts():
        x = (2 * chance.uniform("features", agents, k, d) - 1) / math.sqrt(d)
        return x, x

    return theta, contexts


def sphere_plus_one(rng, chance, agents, k, d):
    v = rng.normal(size=d - 1)
    theta = np.append(v / norm(v) / 2, 0.5)

    def contexts():
        x = np.ones((agents, k, d))
        for a in range(agents):
            for arm in range(k):
                u = rng.normal(size=d - 1)
                x[a, arm, :-1] = u / norm(u)
                if arm < d:
                    x[a, arm, :-1] = [float(i == arm) for i in range(d - 1)]
        return x / norm(x, axis=2, keepdims=True), x

    return theta, contexts


def pool(rng, chance, agents, k, d, size=1000):
    theta = rng.normal(size=d)
    vectors = rng.normal(size=(size, d)) * np.sqrt([(d - i) / d for i in range(d)])
    vectors /= norm(vectors, axis=1, keepdims=True)

    def contexts():
        x = np.array([vectors[rng.choice(size, k, replace=False)] for _ in range(agents)])
        return x, x

    return theta / norm(theta), contexts


LAWS = {"cube": cube, "sphere+1": sphere_plus_one, "pool": pool}


class Learner:
    """V = λI + Σ x xᵀ, b = Σ r x, and n, the pulls in them."""

    def __init__(self, d, ridge=0.0):
        self.v, self.b, self.n = ridge * np.eye(d), np.zeros(d), 0

    def __iadd__(self, other):
        self.v, self.b, self.n = self.v + other.v, self.b + other.b, self.n + other.n
        return self

    def add(self, x, r):
        self.v, self.b, self.n = self.v + np.outer(x, x), self.b + r * x, self.n + 1


class OFUL:
    """Each agent on its own pulls, without messages."""

    def __init__(self, m, d, horizon, chance, beta=0.5, ridge=1.0, sigma=0.5, delta=0.05):
        self.m, self.d, self.horizon, self.chance, self.ridge = m, d, horizon, chance, ridge
        self.radius = lambda n: (
            beta
            if beta is not None
            else sigma * math.sqrt(2 * math.log(1 / delta) + d * math.log(1 + n / (d * ridge))) + math.sqrt(ridge)
        )
        self.of = [Learner(d, ridge) for _ in range(m)]
        self.unsent = [Learner(d) for _ in range(m)]
        self.server, self.messages = Learner(d), 0

    def model(self):
        """Return λI plus what the server has."""
        model = Learner(self.d, self.ridge)
        model += self.server
        return model

    def play(self, a, x):
        it = self.of[a]
        inverse = inv(it.v)
        index = [y @ inverse @ it.b + self.radius(it.n) * math.sqrt(y @ inverse @ y) for y in x]
        return index.index(max(index))

    def learn(self, a, x, r):
        self.of[a].add(x, r)
        self.unsent[a].add(x, r)

    def end(self, t, who):
        pass

    def upload(self, a):
        self.messages += 1
        self.server += self.unsent[a]
        self.unsent[a] = Learner(self.d)

    def download(self, a):
        self.messages += 1
        self.of[a] = self.model()


class Central(OFUL):
    def end(self, t, who):
        for a in who:
            self.upload(a)
        for a in range(self.m):
            self.download(a)


class Thompson(Central):
    def __init__(self, *args, v=0.5, ridge=1.0):
        super().__init__(*args, ridge=ridge)
        self.spread = v

    def act(self, who, seen):
        arms, normals = [], ndtri(self.chance.uniform("draws", len(who), self.d))
        for a, x, z in zip(who, seen, normals, strict=True):
            inverse = inv(self.of[a].v)
            arms.append(int(np.argmax(x @ (inverse @ self.of[a].b + self.spread * cholesky(inverse) @ z))))
        return arms


class He(OFUL):
    def __init__(self, *args, alpha=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.alpha = alpha

    def learn(self, a, x, r):
        self.unsent[a].add(x, r)  # plays by its last download only

    def end(self, t, who):
        due = [a for a in who if det(self.of[a].v + self.unsent[a].v) > (1 + self.alpha) * det(self.of[a].v)]
        for a in due:
            self.upload(a)
        for a in due:
            self.download(a)


class Li(OFUL):
    def __init__(self, *args, gamma=6.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.gamma, self.news = gamma, [Learner(self.d) for _ in range(self.m)]

    def end(self, t, who):
        for a in who:
            if det(self.of[a].v) > self.gamma * det(self.of[a].v - self.unsent[a].v):
                for j in range(self.m):
                    if j != a:
                        self.news[j] += self.unsent[a]
                self.upload(a)
                for j in range(self.m):
                    v = self.model().v
                    if det(v) > self.gamma * det(v - self.news[j].v):
                        self.messages += 1
                        self.of[j] += self.news[j]
                        self.news[j] = Learner(self.d)


class Batch(OFUL):
    def __init__(self, *args, batch=25, **kwargs):
        super().__init__(*args, **kwargs)
        self.batch = batch

    def due(self, t):
        return t % self.batch == 0

    def end(self, t, who):
        if self.due(t):
            for a in range(self.m):
                self.upload(a)
            for a in range(self.m):
                self.download(a)
            self.last = t


class Wang(Batch):
    def __init__(self, *args, threshold=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.last = 0
        total = self.m * self.horizon
        self.least = self.horizon * math.log(total) / (self.d * self.m) if threshold is None else threshold

    def due(self, t):
        known = det(self.model().v)
        return any((t - self.last) * math.log(abs(det(it.v) / known)) >= self.least for it in self.of)


def exact_sigma(epsilon, delta, depth):
    """Return the least noise of a tree in which a user is in `depth` p-sums, each of which it moves by √4.5."""

    def excess(mu):
        return ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu) - delta

    return math.sqrt(4.5 * depth) / brentq(excess, 1e-3, 100.0, xtol=1e-14)


class Dubey(Wang):
    """FedUCB: the server has a tree of noisy sums of each agent, and shifts what it adds up."""

    def __init__(self, *args, epsilon=1.0, delta=1e-5, as_released=False, alpha=0.01, ridge=1.0, sigma=0.5, **kwargs):
        super().__init__(*args, ridge=ridge, **kwargs)
        m, d, horizon, self.released = self.m, self.d, self.horizon, as_released
        depth = int(math.log2(horizon)) + 1
        self.sd = exact_sigma(epsilon, delta, depth)
        if as_released:
            self.sd = math.sqrt(16 * (1 + math.ceil(math.log(horizon))) * (2 + 1 + 2)) * math.log(10 / delta) / epsilon
        total, log = self.sd * math.sqrt(m * depth), math.log(2 * horizon / alpha)
        least = total * (2 * math.sqrt(d) + math.sqrt(2 * log))
        gamma = total * (math.sqrt(d) + math.sqrt(2 * log)) / math.sqrt(least)
        self.radius = lambda n: (
            sigma * math.sqrt(2 * math.log(2 / alpha) + d * math.log(3 + 3 * n / (d * ridge)))
            + math.sqrt(3 * least)
            + gamma
        )
        self.shift = Learner(d, 2 * least)
        if as_released:
            far = 2 * self.sd * math.sqrt(2 * math.log(horizon)) * (4 * math.sqrt(d) + 2 * math.log(200 * horizon))
            self.shift.v, self.shift.b = np.full((d, d), m * far), np.full(d, m * far)
        self.nodes, self.syncs, self.draws = [{} for _ in range(m)], 0, 0

    def play(self, a, x):
        it, inverse = self.of[a], inv(self.of[a].v)
        index = [y @ inverse @ it.b + self.radius(it.n) * math.sqrt(max(y @ inverse @ y, 0.0)) for y in x]
        return index.index(max(index))

    def model(self):
        model = Learner(self.d, self.ridge)
        for node in [self.shift] * (self.syncs > 0) + [noisy for own in self.nodes for _, noisy in own.values()]:
            model += node
        return model

    def noise(self, normals):
        noise, left, off = Learner(self.d), iter(normals), 1.0 if self.released else math.sqrt(0.5)
        for i in range(self.d):
            for j in range(i, self.d):
                noise.v[i, j] = noise.v[j, i] = self.sd * next(left) * off * (math.sqrt(2) if i == j else 1.0)
        noise.b = self.sd * np.array([*left])
        return noise

    def end(self, t, who):
        if not self.due(t):
            return
        self.syncs += 1
        k, normals = self.syncs, ndtri(self.chance.uniform("tree", self.m, self.d * (self.d + 3) // 2))
        grown = 1 + math.ceil(math.log2(k)) > self.draws
        level = k if self.released else int(math.log2(k & -k))
        for a, own in enumerate(self.nodes):
            exact, noisy = Learner(self.d), Learner(self.d)
            for part in [self.unsent[a], *(own.pop(j)[0] for j in range(level) if not self.released)]:
                exact += part
            noisy += exact
            if grown or not self.released:
                noisy += self.noise(normals[a])
            own[level], self.unsent[a] = (exact, noisy), Learner(self.d)
        self.draws += grown
        self.of, self.last, self.messages = [self.model() for _ in range(self.m)], t, self.messages + 2 * self.m


TWINS = {
    "LinUCB": Central, "LinUCB-alone": OFUL, "LinTS": Thompson, "FedLinUCB": He, "Async-LinUCB": Li, "DisLinUCB": Wang,
    "Batch-LinUCB": Batch, "FedUCB": Dubey,
}  # fmt: skip


def naive_linear(
    seed, agent, contexts="cube", activity="one", m=4, k=5, d=3, horizon=200, noise=0.3, streams=False, at=(), **kwargs
):
    """Return arms (a list per round), pseudo-regret, and messages; or the latter two at the rounds `at`."""
    chance = Chance(seed, agent if streams else None)
    theta, draw = LAWS[contexts](chance.of["features"], chance, m if activity == "all" else 1, k, d)
    team = TWINS[agent](m, d, horizon, chance, **kwargs)
    weights = np.cumsum([1 / (a + 1) if activity == "ranked" else 1.0 for a in range(m)])
    arms, regret, curve = [], 0.0, []
    for t in range(1, horizon + 1):
        u = chance.uniform("turn")
        who = [*range(m)] if activity == "all" else [int((u * weights[-1] >= weights).sum())]
        seen, x = draw()
        chosen = team.act(who, seen) if agent == "LinTS" else [team.play(a, y) for a, y in zip(who, seen, strict=True)]
        normals = ndtri(chance.uniform("noise", len(who)))
        for i, (a, arm) in enumerate(zip(who, chosen, strict=True)):
            means = [float(y @ theta) for y in x[i]]
            regret += max(means) - means[arm]
            team.learn(a, seen[i, arm], means[arm] + noise * normals[i])
        team.end(t, who)
        arms.append(chosen)
        if t in at:
            curve.append((regret, team.messages))
    return curve if at else (arms, regret, team.messages)
