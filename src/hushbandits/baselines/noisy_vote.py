"""Gaussian Thompson sampling, with votes for an arm through a channel that adds noise: a short rule of our own."""

import numpy as np
from scipy.special import ndtri

from hushbandits.core import Array, Inbox, Message, Observation, Streams, Team, World, choice, count, real


class NoisyVote(Team):
    """Agents that say which arm is best so far, or how good, and add up what they hear.

    An agent plays the arm of the largest draw of `IndexTS` from its own pulls, plus `weight` times the sum of the
    numbers that it has heard of the arm.  Agents speak in `times` rounds of messages from round `first` on, each with
    an equal share of ε, and listen to no others.

    Parameters
    ----------
    say : str
        ``"vote"``: 1 at the arm with the largest mean; ``"sure"``: there √(n + 1) times its lead over the second, at
        most 1; ``"means"``: the means less their average, in this proportion; ``"report"``: the env's standard report,
        in every round of messages; ``"nothing"``: zeros.
    first, times : int
        The round from which an agent speaks, and how often.
    weight : float
        Weight of a number that is heard.
    sigma, prior : float
        As for `IndexTS`.

    Examples
    --------
    >>> import hushbandits as hb
    >>> hb.evaluate("PricedNetwork-Train-v0", "Noisy-Vote", runs=2).final("epsilon").tolist()
    [1.0, 1.0]
    """

    name = "Noisy-Vote"
    setting = "network"

    def __init__(
        self, say: str = "vote", first: int = 20, times: int = 1, weight: float = 0.05, sigma: float = 0.15,
        prior: float = 1.0,
    ):  # fmt: skip
        self.say = choice("say", say, ("vote", "sure", "means", "report", "nothing"))
        self.first, self.times = count("first", first, 1), count("times", times, 1)
        self.weight, self.sigma = real("weight", weight, 0, closed="low"), real("sigma", sigma, 0)
        self.prior = real("prior", prior)

    def reset(self, env: World, rng: Streams) -> None:
        shape = env.n_agents, env.n_arms
        self._uniforms = rng.reader(shape)
        self._n, self._s, self._heard = np.zeros((3, len(rng), *shape))
        self._rounds = env.message_rounds
        late = np.cumsum(self._rounds >= self.first)
        self._spoken = (self.say != "nothing") & ((self.say == "report") | ((late > 0) & (late <= self.times)))

    def act(self, obs: Observation) -> Array:
        last = np.searchsorted(self._rounds, obs.t + 1, "right") - 1  # −1 before the first round of messages
        self._speaks = self._spoken[last] & (last >= 0)
        n = self._n + 1.0
        draw = (self.prior + self._s) / n + self.sigma / np.sqrt(n) * ndtri(self._uniforms.next() + 2.0**-54)
        self._arm: Array = (draw + self.weight * self._heard).argmax(2)
        return self._arm

    def compose(self, reward: Array) -> Message | None:
        pulled = self._arm[..., None] == np.arange(self._n.shape[2])
        self._n += pulled
        self._s += pulled * reward[..., None]
        if self.say == "report":
            return None
        mean = self._s / np.maximum(self._n, 1.0)
        if self.say == "means":
            said = mean - mean.mean(2, keepdims=True)
            said /= np.maximum(np.abs(said).sum(2, keepdims=True), 1e-300)
        else:
            said = (mean.argmax(2)[..., None] == np.arange(mean.shape[2])) * 1.0
        if self.say == "sure":
            said *= np.minimum(np.sqrt(self._n + 1.0) * (mean - np.sort(mean, 2)[..., -2:-1]), 1.0)
        return {"numbers": said / self.times * self._speaks[:, None, None]}

    def receive(self, inbox: Inbox) -> None:
        self._heard += inbox.total("numbers") * self._speaks[:, None, None]
