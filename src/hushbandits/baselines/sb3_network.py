"""A policy's network in NumPy, and how it draws: a run alone does what it does in a batch, bit for bit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from hushbandits.baselines.sb3_choices import described
from hushbandits.baselines.sb3_file import Learned, heads_of
from hushbandits.core.ground.types import Array, Seeds
from hushbandits.core.luck.tapes import Uniforms
from hushbandits.core.task import Task

__all__ = ["Network"]


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
        if policy.features and policy.deterministic and not self.deterministic:
            raise ValueError("deterministic=False: this policy takes the best choice, and its lots are part of a score")
        names = [*(f"layer{i}" for i in range(len(policy.layers))), "head"]
        self._layers = [(_turned(policy, f"{name}.weight"), policy.weights[f"{name}.bias"]) for name in names]
        if policy.lstm:
            self._input, self._hidden = _turned(policy, "lstm.input"), _turned(policy, "lstm.hidden")

    def reset(self, seeds: Seeds, name: str) -> None:
        """Start R runs that draw from their tapes `name`."""
        self._seeds, self._name = seeds, name
        self._tape: Uniforms | None = None
        self._state: tuple[Array, Array] | None = None

    def logits(self, seen: Array) -> Array:
        """Return scores of all choices, ``(R, A, C)``, for observations ``(R, A, D)``; a recurrent state moves on."""
        x = np.ascontiguousarray(seen, float)
        if self.policy.lstm:
            x = self._remember(x)
        for weight, bias in self._layers[:-1]:
            x = np.matmul(x, weight) + bias
            x = np.tanh(x) if self.policy.activation == "tanh" else np.maximum(x, 0.0)
        weight, bias = self._layers[-1]
        scores: Array = np.matmul(x, weight) + bias
        return scores

    def _remember(self, x: Array) -> Array:
        """One step of an LSTM; gates stand in PyTorch's order: input, forget, cell, output."""
        if self._state is None:
            zero = np.zeros((*x.shape[:2], self.policy.lstm))
            self._state = zero, zero
        hidden, cell = self._state
        gates = np.matmul(x, self._input) + np.matmul(hidden, self._hidden) + self.policy.weights["lstm.bias"]
        let, keep, new, out = np.split(gates, 4, axis=-1)
        cell = _sigmoid(keep) * cell + _sigmoid(let) * np.tanh(new)
        hidden = _sigmoid(out) * np.tanh(cell)
        self._state = hidden, cell
        return hidden

    def act(self, task: Task, pull: bool = True, talk: bool = True) -> Array:
        """Return everyone's action in the next step, ``(R, M)`` or ``(R, M, parts)``.

        Only those are asked whose action counts (a recurrent policy: all, for everyone remembers); the others' is 0.
        """
        seen, who = task.observe(pull, talk), task.obs.who
        mask = task.mask() if self.policy.masked else None
        if self.policy.lstm:
            return self.choose(seen, mask)
        rows = np.arange(len(who))[:, None]
        seen_by, mask = seen[rows, who], None if mask is None else mask[rows, who]
        asked = self._among(task, seen_by, mask) if self.policy.features else self.choose(seen_by, mask)
        action = np.zeros((*seen.shape[:2], *asked.shape[2:]), np.int64)
        action[rows, who] = asked
        return action

    def _among(self, task: Task, seen: Array, mask: Array | None) -> Array:
        """Return the choice of each, ``(R, A)``, by what describes the choices: the best one, or one that is drawn."""
        many = heads_of(task.action_space)[1][0]
        luck = self._luck((seen.shape[1], many + (not self.deterministic)))
        scores = self.logits(described(task, seen, luck[..., :many]))[..., 0]
        if mask is not None:
            scores = np.where(mask, scores, -np.inf)
        found: Array = scores.argmax(-1) if self.deterministic else _drawn(scores, luck[..., -1])
        return found

    def choose(self, seen: Array, mask: Array | None = None) -> Array:
        """Return actions ``(R, A)`` or ``(R, A, parts)``.

        Parameters
        ----------
        seen : (R, A, D)
        mask : (R, A, C), optional
            Which choices count; read only by a policy that was trained with masks.
        """
        scores = self.logits(seen)
        if self.policy.masked and mask is not None:
            scores = np.where(mask, scores, -np.inf)
        heads = self.policy.heads
        ends = np.cumsum([0, *heads])
        parts = [scores[..., a:b] for a, b in pairwise(ends)]
        if self.deterministic:
            taken = [part.argmax(-1) for part in parts]
        else:
            luck = self._luck((scores.shape[1], len(heads)))
            taken = [_drawn(part, luck[..., i]) for i, part in enumerate(parts)]
        return taken[0] if self.policy.kind == "Discrete" else np.stack(taken, -1)

    def _luck(self, shape: tuple[int, int]) -> Array:
        if self._tape is None:
            self._tape = Uniforms(self._seeds, self._name, shape)
        return self._tape.next()


def _turned(policy: Learned, name: str) -> Array:
    return np.ascontiguousarray(policy.weights[name].T)


def _sigmoid(x: Array) -> Array:
    return 0.5 * (1.0 + np.tanh(0.5 * x))  # never overflows


def _drawn(scores: Array, luck: Array) -> Array:
    total = np.cumsum(np.exp(scores - scores.max(-1, keepdims=True)), -1)
    # Below the last value, however it was rounded: what cannot be taken is not.
    at = np.minimum(luck * total[..., -1], np.nextafter(total[..., -1], 0.0))
    found: Array = (total <= at[..., None]).sum(-1)
    return found
