"""Smallest false ε that an audit refutes, for each mechanism: the table of docs/privacy/index.md.

Run: ``python -m benchmarks vetting`` (some 15 minutes on two cores); names after it select mechanisms.

A mechanism claims ε = 1 (`Skellam` and `DiscreteGaussian`: their ε at δ = 10⁻⁶), but has the noise of a claim that is
f times larger.  The table has the smallest such f of `FACTORS` that each kind of check of ``hushbandits audit``
refutes, at the default budget, and the largest ε that the checks find in the honest mechanism.
"""

import math
import sys
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed

from hushbandits.agents.azize2022 import AdaPKLUCB, AdaPUCB
from hushbandits.agents.azize2023 import AdaPTT
from hushbandits.agents.rio2023 import DPMASE
from hushbandits.audits.planned import narrowed
from hushbandits.audits.suite import checks
from hushbandits.baselines.sajed2019 import DPSEAlone
from hushbandits.core import jit
from hushbandits.wrappers.central_dp import CentralLaplace
from hushbandits.wrappers.distributed_dp import DiscreteGaussian, DiscreteLaplace, Skellam
from hushbandits.wrappers.local_bernoulli import LocalBernoulli
from hushbandits.wrappers.local_dp import LocalDiscreteLaplace, LocalTruncated
from hushbandits.wrappers.local_laplace import LocalLaplace
from hushbandits.wrappers.private_means import PrivateMeans
from hushbandits.wrappers.shuffle_dp import ShuffledNoise
from hushbandits.wrappers.tree import TreeGaussian
from hushbandits.wrappers.vector_sum import ShuffledVectorSum

FACTORS = (1.1, 1.25, 1.5, 2.0, 3.0)
KINDS = ("white box", "drawn law", "black box", "one run")


def planned(base, f, **fixed):
    """Return a class that is built for f·ε and has the guarantee for ε; its own plan shows the fault."""

    class False_(base):
        def __init__(self, epsilon=1.0):
            super().__init__(epsilon * f, **fixed)
            self._honest = base(epsilon, **fixed)

        def claimed_guarantees(self, env):
            return self._honest.claimed_guarantees(env)

    return False_


def acting(base, f):
    """Return a class that is built for f·ε and has the guarantee for ε."""

    class False_(base):
        def __init__(self, epsilon=1.0):
            super().__init__(epsilon * f)

        def claimed_guarantees(self, env):
            return tuple(replace(g, epsilon=g.epsilon / f) for g in super().claimed_guarantees(env))

    return False_


def understated(base, f):
    """Return a class with the noise for ε and a guarantee of ε/f."""

    class False_(base):
        def claimed_guarantees(self, env):
            return tuple(replace(g, epsilon=g.epsilon / f) for g in super().claimed_guarantees(env))

    return False_


def drawn(base, f, **fixed):
    """Return a class whose noise is f times narrower than its plan says."""

    class False_(base):
        def __init__(self, epsilon=1.0):
            super().__init__(epsilon, **fixed)

        def _law(self, law):
            return super()._law(narrowed(law, f))

        def claimed_guarantees(self, env):
            return super().claimed_guarantees(env)

    return False_


def reported(base, f, **fixed):
    """Return `LocalLaplace` or `LocalBernoulli` with the noise of f·ε."""

    class False_(base):
        def __init__(self, epsilon=1.0):
            super().__init__(epsilon, **fixed)
            self._narrow = base(epsilon * f, **fixed)

        @property
        def _noise(self):
            return self._narrow._noise

        def chance(self, reward):
            return self._narrow.chance(reward)

        def claimed_guarantees(self, env):
            return super().claimed_guarantees(env)

    return False_


def released(base, f):
    """Return `PrivateMeans` whose releases have f times less noise."""

    class False_(base):
        def _schedule(self, env):
            due, scale, *rest = super()._schedule(env)
            return due, scale / f, *rest

        def claimed_guarantees(self, env):
            return super().claimed_guarantees(env)

    return False_


def summed(base, f):
    """Return `TreeGaussian` whose p-sums have f times less noise than its plan says."""

    class False_(base):
        def __init__(self, epsilon=1.0):
            super().__init__(epsilon)

        def _noise(self, sent):
            return super()._noise(sent) / f

        def claimed_guarantees(self, env):
            return super().claimed_guarantees(env)

    return False_


def voting(base, f):
    """Return DP-MASE with f times less noise on its means, and the epochs of ε."""

    class False_(base):
        def __init__(self, epsilon=1.0):
            super().__init__(epsilon)

        def claimed_guarantees(self, env):
            return super().claimed_guarantees(env)

        def routine(self, n_arms):
            honest = super().routine(n_arms)
            learn = honest.learn

            @jit
            def narrower(state, r, n, p, arms, reward, uniforms, vote):
                near = np.empty(uniforms.size)  # the quantile ln 2u becomes (ln 2u)/f
                for k in range(uniforms.size):
                    side = min(uniforms[k], 1 - uniforms[k])
                    far = 0.5 * (2 * side) ** (1 / f)
                    near[k] = far if uniforms[k] < 0.5 else 1 - far
                return learn(state, r, n, p, arms, reward, near, vote)

            return honest._replace(learn=narrower)

    return False_


#: By name: how the fault is built for the white box, how for all other checks, the class, and its parameters.
MECHANISMS = {
    "CentralLaplace": (planned, drawn, CentralLaplace, {}),
    "CentralLaplace, discrete": (planned, drawn, CentralLaplace, {"discrete": True}),
    "DiscreteLaplace": (planned, drawn, DiscreteLaplace, {}),
    "Skellam": (planned, drawn, Skellam, {}),
    "DiscreteGaussian": (planned, drawn, DiscreteGaussian, {}),
    "ShuffledNoise, split-and-mix": (planned, drawn, ShuffledNoise, {}),
    "ShuffledNoise, pure": (planned, drawn, ShuffledNoise, {"shuffle": "pure"}),
    "ShuffledNoise, binary-sum": (planned, planned, ShuffledNoise, {"shuffle": "binary-sum"}),
    "ShuffledNoise, binary-sum, exact": (
        planned,
        planned,
        ShuffledNoise,
        {"shuffle": "binary-sum", "calibrate": "exact"},
    ),
    "LocalDiscreteLaplace": (planned, drawn, LocalDiscreteLaplace, {}),
    "LocalTruncated": (planned, drawn, LocalTruncated, {}),
    "LocalLaplace": (None, reported, LocalLaplace, {}),
    "LocalLaplace, 64 levels": (None, reported, LocalLaplace, {"quantization_levels": 64}),
    "LocalBernoulli": (reported, reported, LocalBernoulli, {}),
    "PrivateMeans": (understated, released, PrivateMeans, {}),
    "TreeGaussian": (acting, summed, TreeGaussian, {}),
    "ShuffledVectorSum": (acting, acting, ShuffledVectorSum, {}),
    "DP-MASE": (None, voting, DPMASE, {}),
    "AdaP-UCB": (None, acting, AdaPUCB, {}),
    "AdaP-KLUCB": (None, acting, AdaPKLUCB, {}),
    "AdaP-TT": (None, acting, AdaPTT, {}),
    "DP-SE-alone": (None, acting, DPSEAlone, {}),
}


def fault(name, kind, f):
    """Return ``module:Class`` of a mechanism whose claim is false by the factor f; ``None``: no check of this kind."""
    exact, other, base, fixed = MECHANISMS[name]
    build = exact if kind == "white box" else other
    if build is None:
        return None
    made = build(base, f, **fixed)
    made.__name__ = made.__qualname__ = f"False{base.__name__}"
    made.__module__ = "vetting"
    setattr(sys.modules.setdefault("vetting", sys.modules[__name__]), made.__name__, made)
    return f"vetting:{made.__name__}"


def audited(name, kind, f):
    """Return the verdicts of one kind of check of a mechanism whose claim is false by the factor f; ``None``: no check.

    They end at the first refutation.
    """
    path = fault(name, kind, f)
    found = None
    for check in checks([path]) if path else ():
        if check.what == kind:
            found = found or []
            for verdict in check.run():
                found.append(verdict)
                if verdict.unit == "errors":
                    raise RuntimeError(f"{name}, {kind}: {verdict.check}")
                if not verdict.passed:
                    return found
    return found


def smallest(name, kind):
    """Return as text the smallest factor that is refuted, by bisection; ``–``: there is no such check with power."""
    low, high, found = -1, len(FACTORS), []
    while high - low > 1:
        middle = (low + high) // 2
        found = audited(name, kind, FACTORS[middle])
        if found is None:
            return "–"
        low, high = (low, middle) if not found[-1].passed else (middle, high)
    if high < len(FACTORS):
        return f"{FACTORS[high]:g}"
    return "–" if all(verdict.why for verdict in found) else f"> {FACTORS[-1]:g}"


def honest(name):
    """Return the largest bound on ε of black-box and one-run checks of the honest mechanism, and the claim.

    A refutation is an error.
    """
    bounds = []
    for kind in KINDS:
        found = audited(name, kind, 1.0) or []
        if refuted := [verdict.check for verdict in found if not verdict.passed]:
            raise RuntimeError(f"{name} is refuted: {refuted[0]}")
        if kind in KINDS[2:]:
            bounds += [(v.measured / v.claimed, v.measured, v.claimed) for v in found if v.unit == "ε" and not v.why]
    return max(bounds, default=(0.0, 0.0, math.nan))[1:]


def line(name):
    """Return a row of the table."""
    bound, claimed = honest(name)
    found = "–" if math.isnan(claimed) else f"{bound:.2f}" if claimed == 1 else f"{bound:.2f} of {claimed:.4g}"
    cells = [name, found, *(smallest(name, kind) for kind in KINDS)]
    return f"| {' | '.join(cells)} |"


def main(*names):
    """Print the table."""
    heads = ("mechanism", "bound", *KINDS)
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for row in Parallel(n_jobs=2, return_as="generator")(delayed(line)(name) for name in names or MECHANISMS):
        print(row, flush=True)
