"""An agent that discounts old rewards."""

import numpy as np


class TidalUCB:
    """UCB on discounted own and received rewards: a reward counts 1 % less with every round."""

    def __init__(self, m, rng, n_arms):
        self.n, self.s = np.full(n_arms, 1e-9), np.zeros(n_arms)

    def act(self, t):
        self.arm = int((self.s / self.n + np.sqrt(np.log(self.n.sum() + 2) / self.n)).argmax())
        return self.arm

    def compose(self, reward):
        self.n *= 0.99
        self.s *= 0.99
        self.learn(self.arm, reward)

    def receive(self, messages):
        for message in messages:
            self.learn(message["arm"], message["reward"])

    def learn(self, arm, reward):
        self.n[arm] += 1
        self.s[arm] += reward
