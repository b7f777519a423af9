"""Features of single choices, for policies that score choices one by one and accept any number of arms.

Such a policy is equivariant: renaming arms or agents renames its actions.  It plays at any K, M and horizon.
A lot is one of the numbers, so that a policy that takes the best choice can still try others.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from hushbandits.core import Array, RLTask

#: Of each setting: the numbers that describe a choice.
CHOICES = {
    "network": ("mean", "prior", "spread", "late_spread", "lot", "late_lot", "wide_lot"),
    "exploration": ("vote", "score", "likely", "worst", "few", "late", "rivals", "rivals_score", "rivals_likely"),
    "feedback": ("gap", "untried", "late_untried", "size", "size2", "rest", "rest2", "sure", "gap_rest", "few"),
    # an arm, and what is said of it
    "priced": ("mean", "prior", "spread", "late_spread", "lot", "late_lot", "heard", "late_heard", "first_heard",
               "last_heard", "lead", "first_lead", "last_lead", "gain", "first_gain", "last_gain", "sure"),
}  # fmt: skip

#: Weights of linear scores, a rule for each setting: a Thompson index; a vote by the gap; a block for each arm, then
#: for the close ones, longer as estimates become precise.
_RULES = {
    "network": {"mean": 4.0, "prior": 4.0, "late_spread": 1.0, "lot": 0.4, "late_lot": 0.4},
    "exploration": {"vote": -1.0, "score": 1.0, "likely": 0.7, "worst": 0.5, "few": -3.0},
    "feedback": {
        "gap": -4.0, "untried": 4.0, "size": 9.0, "size2": -8.0, "rest": 8.0, "rest2": -8.0, "sure": 25.0,
        "gap_rest": -4.0, "few": 3.0,
    },
    "scores": {"mean": 0.5, "prior": 0.5, "lot": 0.5, "heard": 0.2},
    "numbers": {"lead": 1 / 3},
}  # fmt: skip
#: Of the features of "priced", those of the arm's score, and those of the number that is said of it.
OWN = np.repeat(np.eye(2, dtype=np.float32), (10, 7), 1)
#: Factor of the scores of policies that draw actions: with it, a softmax of a rule's scores is nearly greedy.
SCALE = 25.0


def rule(setting: str) -> Array:
    """Return the weights of a linear score that plays the hand-written rule of `setting`, one per feature."""
    if setting == "priced":  # a score of the arm, and the number that is said of it
        return np.stack([[_RULES[part].get(name, 0.0) for name in CHOICES[setting]] for part in ("scores", "numbers")])
    return np.array([_RULES[setting].get(name, 0.0) for name in CHOICES[setting]])


def described_as(task: RLTask) -> str:
    """Return which of `CHOICES` describes the choices of `task`: its setting's, unless its class has its own."""
    return getattr(task, "kind", task.core.setting)


def choices(task: RLTask) -> int:
    """Return C, the number of choices that an agent has in `task`, whose actions must be single choices or a ``Box``.

    Of a ``Box`` it is the number of values.
    """
    arms, users = task.core.n_arms, int(task.core.horizon or 1)
    counts = {"network": arms, "priced": 2 * arms, "exploration": arms + 1, "feedback": arms * users.bit_length()}
    return counts[described_as(task)]


def described(task: RLTask, seen: Array, uniforms: Array) -> Array:
    """Return the features of every choice of every agent, ``(R, A, C, F)``.

    Parameters
    ----------
    task : RLTask
        What the agents look through; of it only the layout and what is public of the env are read.
    seen : (R, A, D)
        Observations.
    uniforms : (R, A, C)
        A uniform number for every choice.
    """

    def part(name: str) -> Array:
        found: Array = seen[..., task.layout[name]].astype(float)
        return found / np.maximum(1.0 - np.abs(found), 1e-6) if task.squashes(name) else found

    return np.stack(_DESCRIBED[described_as(task)](task, part, uniforms), -1)


def _pulls(width: Array) -> Array:
    return np.maximum(1.0 / np.maximum(width, 1e-6) ** 2 - 1.0, 0.0)


def _network(task: RLTask, part: Callable[[str], Array], uniforms: Array) -> tuple[Array, ...]:
    own, heard = _pulls(part("own_width")), _pulls(part("heard_width"))
    n = own + heard + 1.0
    uniforms = np.maximum(uniforms, 1e-300)
    width, lot = 1.0 / np.sqrt(n), np.log(uniforms) - np.log1p(-uniforms)  # of the logistic law
    left = 1.0 - part("time")
    mean = (own * part("own_mean") + heard * part("heard_mean")) / n
    likely = np.clip(mean + 0.5 / n, 0.0, 1.0)  # of a reward in [0, 1] with a flat prior
    spread = width * np.sqrt(likely * (1.0 - likely))
    return mean, 1.0 / n, spread, spread * left, lot * spread, lot * spread * left, lot * width


def _exploration(task: RLTask, part: Callable[[str], Array], uniforms: Array) -> tuple[Array, ...]:
    still: Array = (part("active") > 0) & (part("own_votes") == 0)
    n, mean, time = _pulls(part("own_width")), part("own_mean"), part("time")
    best = np.where(still, mean, -np.inf).max(-1, keepdims=True)
    gap = np.where(still, best - mean, 0.0)
    worst = still & (gap >= gap.max(-1, keepdims=True))
    smooth = (mean * n + 1.0) / (n + 2.0)  # of a reward in [0, 1] with a flat prior
    top = np.where(still, smooth, 0.0).max(-1, keepdims=True)
    variance = np.clip(smooth * (1.0 - smooth), 0.02, 1.0) + np.clip(top * (1.0 - top), 0.02, 1.0)
    likely = (top - smooth) * np.sqrt((n + 2.0) / variance)  # how many standard deviations it lies below the best
    one, few, rivals = np.ones_like(mean), 1.0 / (1.0 + n), 2.0 / np.maximum(still.sum(-1, keepdims=True), 2)
    score = gap * np.sqrt(n)
    parts = (one, score, likely, worst * one, few, time * one, rivals * one, rivals * score, rivals * likely)
    return tuple(np.concatenate([x, np.zeros_like(x[..., :1])], -1) for x in parts)  # no vote: 0 throughout


def _feedback(task: RLTask, part: Callable[[str], Array], uniforms: Array) -> tuple[Array, ...]:
    users = float(task.core.horizon or 1)
    left = np.maximum((1.0 - part("time")) * users, 1.0)[..., None]
    j = 2.0 ** np.arange(int(users).bit_length())
    size: Array = np.log2(np.minimum(j, left)) / 8.0  # (R, A, 1, J)
    mean, n = np.clip(part("own_mean"), -0.5, 1.5), _pulls(part("own_width"))
    all_tried: Array = np.asarray(n.min(-1, keepdims=True) > 0.5, float)[..., None]
    ranked = np.sort(np.where(n > 0.5, mean, -0.5), -1)
    best = ranked[..., -1:]
    gap = np.where(n > 0.5, best - mean, 0.0)[..., None]
    lead = ((best - ranked[..., -2:-1]) * np.sqrt(n.min(-1, keepdims=True)))[..., None]
    new = np.where(n > 0.5, 0.0, 1.0)[..., None]
    found = (
        gap, new, new * part("time")[..., None], new * size, new * size**2, all_tried * size, all_tried * size**2,
        all_tried * size * np.minimum(lead / 4.0, 2.0), gap * size, 1.0 / np.sqrt(1.0 + n[..., None]),
    )  # fmt: skip
    shape = (*mean.shape, size.shape[-1])
    return tuple(np.broadcast_to(x, shape).reshape(*shape[:2], -1) for x in found)


def _priced(task: RLTask, part: Callable[[str], Array], uniforms: Array) -> tuple[Array, ...]:
    arms, left, coming = task.core.n_arms, 1.0 - part("time"), part("next")
    n, mean = _pulls(part("own_width")) + 1.0, part("own_mean")
    index, spread = mean * (1.0 - 1.0 / n), 0.15 / np.sqrt(n)
    lot = spread * ndtri(np.clip(uniforms[..., :arms], 1e-16, 1.0 - 1e-16))
    noise = vars(task)["noise_scale"]  # on what is heard
    trust = (1.0 + 4.0 * noise**2) ** -2 / np.sqrt(task.core.n_agents)
    each = trust * part("heard").reshape(*mean.shape[:-1], -1, arms)
    heard = each.sum(-2)
    lead = (np.arange(arms) == mean.argmax(-1)[..., None]) * 1.0
    gain = mean - mean.mean(-1, keepdims=True)
    when = [part("unspent") * x for x in (coming.sum(-1, keepdims=True), coming[..., :1], coming[..., -1:])]
    sure = lead * np.sqrt(n) * (mean - np.sort(mean, -1)[..., -2:-1])
    own = index - 0.5, 1.0 / n, spread, spread * left, lot, lot * left
    others = heard, heard * left, each[..., 0, :], each[..., -1, :]
    said = *(lead * x for x in when), *(gain * x for x in when), sure * when[0]
    return *own, *others, *said


_DESCRIBED = {"network": _network, "exploration": _exploration, "feedback": _feedback, "priced": _priced}
