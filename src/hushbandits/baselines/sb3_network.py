"""A policy's network in NumPy, and how it draws: a run alone does what it does in a batch, bit for bit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from hushbandits.baselines.sb3_choices import described
from hushbandits.baselines.sb3_file import ACTIVATIONS, Learned, heads_of
from hushbandits.core.ground.types import Array, Seeds
from hushbandits.core.luck.tapes import Uniforms
from hushbandits.core.task import Task


class Network:
    """A policy at play in R runs.

    Every run is one product of matrices of its own, whose shape does not depend on the others.

    Parameters
    ----------
    policy : Learned
    deterministic : bool, optional
        Take the likeliest action; default: what the policy says.
    """

    def __init__(self, policy: Learned, deterministic: bool | None = None):
        self.policy = policy
        self.deterministic = policy.deterministic if deterministic is None else deterministic
        if policy.by_choice and policy.deterministic and not self.deterministic:
            raise ValueError("deterministic=False: this policy takes the best choice, and its lots are part of a score")
        self._layers = [(np.ascontiguousarray(weight.T), bias) for weight, bias in policy.layers]

    def reset(self, seeds: Seeds, name: str) -> None:
        """Start R runs that draw from their tapes `name`."""
        self._seeds, self._name = seeds, name
        self._tape: Uniforms | None = None

    def logits(self, seen: Array) -> Array:
        """Return scores of all choices, ``(R, A, …, C)``, for observations ``(R, A, …, D)``."""
        x = np.ascontiguousarray(seen, float)
        between = ACTIVATIONS[self.policy.activation]
        for weight, bias in self._layers[:-1]:
            x = between(np.matmul(x, weight) + bias)
        weight, bias = self._layers[-1]
        scores: Array = np.matmul(x, weight) + bias
        return scores

    def act(self, task: Task, pull: bool = True, talk: bool = True) -> Array:
        """Return everyone's action in the next step, ``(R, M)`` or ``(R, M, parts)``.

        Only those are asked whose action counts; the others' is 0.
        """
        everyone, space, who = task.observe(pull, talk), task.action_space, task.obs.who
        rows, heads = np.arange(len(who))[:, None], heads_of(space)
        seen = everyone[rows, who]
        lots = heads[0] if self.policy.by_choice else 0
        luck = self._luck(seen.shape[1], lots + (0 if self.deterministic else len(heads)))
        scores = self.logits(described(task, seen, luck[..., :lots]))[..., 0] if lots else self.logits(seen)
        if scores.shape[-1] != sum(heads):  # a bit with the score z is a choice between the scores 0 and z
            scores = np.stack([np.zeros_like(scores), scores], -1).reshape(*scores.shape[:2], -1)
        if self.policy.masked:
            scores = np.where(task.mask()[rows, who], scores, -np.inf)
        parts = [scores[..., a:b] for a, b in pairwise(np.cumsum([0, *heads]))]
        if self.deterministic:
            taken = [part.argmax(-1) for part in parts]
        else:
            taken = [drawn(part, luck[..., lots + i]) for i, part in enumerate(parts)]
        action = np.zeros((*everyone.shape[:2], *(space.shape or ())), np.int64)
        action[rows, who] = np.stack(taken, -1) if space.shape else taken[0]
        return action

    def _luck(self, agents: int, numbers: int) -> Array:
        if not numbers:
            return np.empty((len(self._seeds), agents, 0))
        if self._tape is None:
            self._tape = Uniforms(self._seeds, self._name, (agents, numbers))
        return self._tape.next()


def drawn(scores: Array, luck: Array) -> Array:
    """Return choices that are drawn by the softmax of `scores`, ``(…, C)``, given a uniform number for each draw."""
    total = np.cumsum(np.exp(scores - scores.max(-1, keepdims=True)), -1)
    # Below the last value, however it was rounded: what cannot be taken is not.
    at = np.minimum(luck * total[..., -1], np.nextafter(total[..., -1], 0.0))
    found: Array = (total <= at[..., None]).sum(-1)
    return found
