"""Cooperation over a graph by numbers that agents choose, and pay for by ε and by bits."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from gymnasium import spaces

from hushbandits.core import Array, Coding, Field, Fields, Message, Metric, Observation, Part, Stacked, World
from hushbandits.core.utils import choice, count, shown
from hushbandits.envs.network.env import CoopNetwork
from hushbandits.envs.network.task import NetworkTask

#: Default prices of a unit, in rewards of every agent.
PRICES: Mapping[str, float] = {"epsilon": 0.1, "bits": 1e-7}


class PricedTask(NetworkTask):
    """Task in which an agent chooses an arm and K numbers, which others receive in the rounds of messages.

    The action space is a ``Box`` of K scores, the largest of which names the arm, and K numbers in [−1, 1]; natively it
    is a ``Dict`` of ``arm`` and ``numbers``.  Further parts: ``heard``, for each round of messages the K sums of the
    numbers that have reached the agent since; ``unspent``, the share of ε that it has left; ``next``, a bit per round
    of messages, 1 if it is the next round.  ``speaks`` is 1 before each of them.  Every agent earns the mean reward of
    all agents, for what one says helps only the others.

    Parameters
    ----------
    core : PricedNetwork or its EnvView
    cost_coefficients : mapping of str to float, optional
        As for `RLTask`; default: `PRICES`.
    reward_source : str
        ``"own"``, or ``"oracle"``, for training: in place of rewards the negative regret, which no agent knows, and
        the agent's own once more, so that it learns faster what its pull does.
    **options
        As for `ArmTask`.

    Examples
    --------
    >>> import hushbandits as hb
    >>> PricedTask(hb.make_batched("PricedNetwork-Train-v0")).action_space
    Box(-1.0, 1.0, (10,), float32)
    """

    #: By what `hushbandits.baselines.sb3_choices` describes its choices, in place of the setting.
    kind = "priced"

    def __init__(
        self, core: World, *, cost_coefficients: Mapping[str, float] | None = None, reward_source: str = "own",
        **options: Any,
    ):  # fmt: skip
        self._oracle = choice("reward_source", reward_source, ("own", "oracle")) == "oracle"
        self.labels = {"reward_source": "oracle"} if self._oracle else {}
        if cost_coefficients is None:
            known = getattr(core, "metrics_spec", {})  # a team plays without rewards
            cost_coefficients = {name: price for name, price in PRICES.items() if name in known}
        #: Scale of the noise on each number, which is public.
        self.noise_scale = max((w.noise_scale for w in core.wrappers if hasattr(w, "noise_scale")), default=0.0)
        super().__init__(core, cost_coefficients=cost_coefficients, **options)

    def _parts(self) -> dict[str, Part]:
        rounds = len(self.core.message_rounds)
        heard = (rounds * self.core.n_arms, -math.inf, math.inf)
        return {**super()._parts(), "heard": heard, "unspent": (1, 0.0, 1.0), "next": (rounds, 0.0, 1.0)}

    def _codings(self) -> dict[str, Coding]:
        k = self.core.n_arms
        native = self.unmasked(spaces.Dict({"arm": spaces.Discrete(k), "numbers": spaces.Box(-1.0, 1.0, (k,))}))
        return {"box": Coding(spaces.Box(-1.0, 1.0, (2 * k,)), self._split, self._all), "native": native}

    def _split(self, action: Array) -> Stacked:
        k = self.core.n_arms
        return {"arm": action[..., :k].argmax(-1), "numbers": action[..., k:]}

    def _start(self, rows: slice | Array) -> None:
        super()._start(rows)
        if isinstance(rows, slice):
            rounds, (runs, agents, arms) = len(self.core.message_rounds), self.pulls.shape
            self._heard, self._unspent = np.zeros((runs, rounds, agents, arms)), np.ones(self._seats.shape)
            self.observations[..., self.layout["unspent"]] = 1.0
        self._heard[rows], self._unspent[rows] = 0.0, 1.0

    def arms(self, action: Stacked) -> Array:
        return super().arms(action["arm"])

    def earned(self, before: Observation) -> Array:
        """Return the mean of all agents' rewards for each of them, ``(R, M)``."""
        own = super().earned(before)
        if self._oracle and self.arm is not None:
            own = -np.take_along_axis(self.core.gaps, self.arm, 1)
            return own + own.mean(1, keepdims=True)
        return np.repeat(own.mean(1, keepdims=True), self.core.n_agents, 1)

    def words(self, action: Stacked) -> dict[str, Array]:
        """Return the numbers of an action, and note what they spend in a round of messages."""
        numbers = np.asarray(action["numbers"], float)
        spent = np.abs(numbers).sum(-1) * self.observations[..., self.layout["speaks"]][..., 0]
        self._unspent = np.maximum(self._unspent - spent, 0.0)
        self._put("unspent", self._unspent)
        return {"numbers": numbers}

    def heard(self, obs: Observation) -> None:
        """Add the numbers that arrived to the sums."""
        super().heard(obs)
        assert obs.inbox is not None
        last = np.searchsorted(self.core.message_rounds, obs.t, "right") - 1  # −1 before the first, when nothing comes
        self._heard[np.arange(len(last)), last] += obs.inbox.total("numbers")
        self._put("heard", self._heard.swapaxes(1, 2))

    def show_turn(self, pull: bool, talk: bool) -> None:
        coming = (self.obs.t[:, None] + 1 == self.core.message_rounds) & talk
        self.observations[..., self.layout["acts"]] = pull
        self.observations[..., self.layout["next"]] = coming[:, None]
        self.observations[..., self.layout["speaks"]] = coming.any(1)[:, None, None]


class PricedNetwork(CoopNetwork):
    """A network in which every agent sends K numbers of its choice in [−1, 1] in some rounds.

    These rounds are public, and every agent sends in each of them: silence that follows rewards would reveal them, so
    an agent that has nothing to say says zeros.  The standard report has ``2x − 1`` at the pulled arm, x the reward,
    divided by the number of rounds of messages: the same ε in each of them.

    Parameters
    ----------
    message_rounds : sequence of int
        The rounds of messages, ascending, the first round of a run being 1.
    **rest
        As in `CoopNetwork`.

    Notes
    -----
    ``bits`` (R,): transmissions over edges times 64K bits, K doubles.

    Examples
    --------
    >>> import numpy as np
    >>> env = PricedNetwork(n_agents=4, message_rounds=(2, 4), horizon=4)
    >>> obs, messages = env.reset(0), []
    >>> for _ in range(4):
    ...     obs = env.pull(np.zeros((1, 4), int))
    ...     obs = env.communicate({"numbers": np.ones((1, 4, 10))})
    ...     messages.append(int(env.metrics()["messages"][0]))
    >>> messages
    [0, 24, 24, 48]
    """

    rl_task = PricedTask
    agent_visible = (*CoopNetwork.agent_visible, "message_rounds")  # type: ignore[assignment]
    metrics_spec: Mapping[str, Metric] = {"bits": Metric("bits sent over edges", "count")}

    def __init__(self, *, message_rounds: Sequence[int] = (10, 20, 40), **rest: Any):
        rounds = [count("message_rounds", number, 1) for number in message_rounds]
        if not rounds or any(b <= a for a, b in pairwise(rounds)):
            raise ValueError(f"message_rounds={shown(message_rounds)} must be ascending rounds, at least one")
        self.message_rounds = np.array(rounds)
        super().__init__(**rest)

    @property
    def report(self) -> Fields:
        return {"numbers": Field((self.n_arms,), low=-1.0, high=1.0)}

    def _report(self) -> dict[str, Array]:
        share = (2.0 * self.own_reward - 1.0) / max(1, (self.message_rounds <= self.horizon).sum())
        return {"numbers": (self._arm[..., None] == np.arange(self.n_arms)) * np.clip(share, -1.0, 1.0)[..., None]}

    def _standard(self) -> Message:
        return self._publicly(super()._standard())

    def _said(self, message: Message) -> Message:
        return self._publicly(super()._said(message))

    def _publicly(self, message: Message) -> Message:
        return {**message, "sent": np.repeat(np.isin(self._t + 1, self.message_rounds)[:, None], self.n_agents, 1)}

    def _metrics(self) -> dict[str, Array]:
        found = super()._metrics()
        size = sum(8 * field.form.itemsize * math.prod(field.shape) for field in self.sent_fields.values())
        return {**found, "bits": found["messages"] * size}
