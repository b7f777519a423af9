"""The audit: which checks every promise gets, and how many runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from hushbandits.agents.rio2023 import DPMASE
from hushbandits.audits.black import black_box, grid_bits, neighbours, one_run
from hushbandits.audits.blocks import BACKGROUNDS, POSITIONS
from hushbandits.audits.cases import Case, Unbuilt, claims, everything, hider, named
from hushbandits.audits.drawn import long_run, losing, other_sizes, short_runs, single_messages
from hushbandits.audits.hiding import routes
from hushbandits.audits.laws import planned_law
from hushbandits.audits.network import ROUNDS, messages
from hushbandits.audits.posts import coins, drawn_posts, has_law, releases
from hushbandits.audits.unbounded import laws
from hushbandits.audits.verdict import Verdict
from hushbandits.audits.votes import epoch_votes
from hushbandits.audits.white import compositions, every_size, white_box
from hushbandits.core.env import Env
from hushbandits.core.guarantee import Guarantee
from hushbandits.core.messages import Field
from hushbandits.core.team import Team
from hushbandits.core.wrapper import Wrapper
from hushbandits.registry import make_team
from hushbandits.wrappers.local_bernoulli import LocalBernoulli
from hushbandits.wrappers.mechanism import Mechanism
from hushbandits.wrappers.private_means import PrivateMeans

__all__ = ["GRID", "LARGE", "UNSEEN", "Budget", "Check", "audit", "checks"]

GRID = (0.1, 0.5, 1.0, 4.0, 10.0, 12.0)
_SIZES = (2, 19, 64, 1000)
#: Sizes of large blocks.
LARGE = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
_WHERE = tuple((b, p) for b in BACKGROUNDS for p in POSITIONS)
_ONE = (("mixed", "middle"),)
_HIDING = {"SecAgg": ("cohorts", "windows"), "Shuffle": ("order", "windows")}

#: What passes every audit from outside, and why.
UNSEEN = {
    "a trigger that is never played": "noise missing at one block size beyond those listed, or after more blocks than "
    "the longest run, leaves every block that is looked at as it should be",
    "a secret trigger": "a mechanism that tells only whoever holds a key (a certain seed, a certain sequence of "
    "rewards) is honest in all runs without it",
    "a rare fault": "noise missing in fewer blocks than a check's stated share is within its error",
    "another channel": "time taken, files, memory: the audit sees messages and inboxes",
    "randomness that only its maker knows": "seeded noise has its law for all who do not know the seed",
}


@dataclass(frozen=True)
class Check:
    """One group of verdicts, not yet run.

    Parameters
    ----------
    subject : str
    what : str
        Which kind of check.
    promises : tuple of (str, str)
        The class that it checks, and who observes.
    run : callable
        Returns the verdicts.
    """

    subject: str
    what: str
    promises: tuple[tuple[str, str], ...]
    run: Callable[[], Iterator[Verdict]]


@dataclass(frozen=True)
class Budget:
    """How much is run.

    Parameters
    ----------
    level : float
        Probability that an honest mechanism fails a statistical check.
    seed : int
    samples : int
        Runs a side of a black box.
    thorough : bool
        Black boxes, and drawn laws in full, at every ε of the grid, more sizes, longer runs.
    largest, runs : int
        Drawn laws: every block size up to `largest`, in so many runs.
    """

    level: float = 1e-6
    seed: int = 0
    samples: int = 6000
    thorough: bool = False
    largest: int = 256
    runs: int = 16


def checks(names: Sequence[str] = (), budget: Budget | None = None) -> list[Check]:
    """Return all checks of what is named (default: of everything registered that promises or hides something).

    Examples
    --------
    >>> [check.what for check in checks(["DP-MASE"])]
    ['black box']
    """
    budget = budget or Budget()
    found: list[Check] = []
    for name in names or everything():
        if (secure := hider(name)) is not None:
            make, kind = secure
            run = partial(routes, make, name, _HIDING[kind], budget.samples // 3, budget.level, budget.seed)
            found.append(Check(name, "secure function", (), run))
        for case in named(name):
            found += [_unbuilt(case)] if isinstance(case, Unbuilt) else _of(case, budget)
    if not names:
        found.append(Check("reward laws", "white box", (), laws))
    return found


def _unbuilt(case: Unbuilt) -> Check:
    untested = "" if case.broken else case.why
    verdict = Verdict(case.subject, case.why, 0, float(case.broken), "errors", untested=untested)
    return Check(case.subject, "what it is", (), lambda: iter([verdict]))


def _of(case: Case, budget: Budget) -> list[Check]:
    about = tuple((type(case.owner).__name__, g.view) for g in case.promises)
    kinds: dict[str, Callable[[], Iterator[Verdict]]] = {}
    if isinstance(case.owner, Mechanism):
        kinds = {"white box": partial(_exact, case), "drawn law": partial(_drawn, case, budget)}
        kinds["black box"] = partial(_mechanism_black, case, budget)
    elif isinstance(case.owner, Team):
        kinds = {"black box": partial(_votes, case, budget)}
    elif case.env.payload.named:
        kinds = {"black box": partial(_messages, case, budget)}
        if has_law(case.owner):
            kinds["drawn law"] = partial(_drawn_messages, case, budget)
        if isinstance(case.owner, LocalBernoulli):
            kinds["white box"] = partial(coins, case.owner, case.env, case.subject)
        if isinstance(case.owner, PrivateMeans):
            kinds["white box"] = partial(releases, case.owner, case.env, case.subject)
    else:
        kinds = {"black box": partial(_blocks_black, case, budget)}
    return [Check(case.subject, what, about, partial(_guarded, case.subject, what, run)) for what, run in kinds.items()]


def _guarded(subject: str, what: str, run: Callable[[], Iterator[Verdict]]) -> Iterator[Verdict]:
    """A check of a stranger's code may raise anything: that is shown, and the others go on."""
    try:
        yield from run()
    except Exception as error:
        yield Verdict(subject, f"{what}: {type(error).__name__}: {error}", 0, 1, "errors")


# -- mechanisms of the feedback setting -----------------------------------------------------------------------------


def _made(case: Case, epsilon: float) -> tuple[Env, Mechanism, Guarantee]:
    env = case.make(epsilon) if case.make is not None else case.env
    env.reset(0)
    mechanism = next(w for w in env.wrappers if w.name == case.owner.name)
    assert isinstance(mechanism, Mechanism)
    return env, mechanism, claims(mechanism, env)[0]


def _epsilons(case: Case) -> tuple[float, ...]:
    return GRID if case.make is not None else (cast(Mechanism, case.owner).epsilon,)


def _exact(case: Case) -> Iterator[Verdict]:
    for epsilon in _epsilons(case):
        subject = f"{case.subject} ε={epsilon:g}"
        _, mechanism, promise = _made(case, epsilon)
        least = mechanism.smallest
        yield from every_size(mechanism, subject, promise, range(least, 257 if epsilon == 1 else 65))
        yield from every_size(mechanism, subject, promise, LARGE)
        for n in (n for n in _SIZES if n >= least):
            sure = max(mechanism.sure(n), least)
            # next to nobody: only where the law is known in closed form, for ε is in the thousands otherwise
            release = mechanism.release(n, n)
            few = least if release is not None and release.law.closed else sure
            for survivors in dict.fromkeys((n, sure, max(least, sure // 2), few)):
                yield from white_box(mechanism, n, survivors, subject, promise)
        if epsilon in (0.1, 1.0, 10.0) or case.make is None:
            few = max(least, 10)
            mixtures = [[(64, 64)] * 3, [(64, 64)] * 2 + [(max(2 * few, 50), few)] * 2]
            yield from compositions(mechanism, subject, mixtures)


def _drawn(case: Case, budget: Budget) -> Iterator[Verdict]:
    """In full at ε = 1 (or its own ε), and shorter at the others of the grid and at one that the seed draws."""
    full = _epsilons(case) if budget.thorough or case.make is None else (1.0,)
    other = [e for e in _epsilons(case) if e not in full]
    if case.make is not None:
        rng = np.random.default_rng([budget.seed, 7])
        other.append(float(f"{math.exp(rng.uniform(math.log(GRID[0]), math.log(GRID[-1]))):.3g}"))
    largest, runs = (budget.largest, budget.runs) if not budget.thorough else (512, 48)
    for epsilon in (*full, *other):
        env, mechanism, promise = _made(case, epsilon)
        subject, wrappers, least = f"{case.subject} ε={mechanism.epsilon:g}", env.wrappers, mechanism.smallest
        exact = mechanism.sampler == "exact"  # integers only, user by user: slow
        few = max(2, runs // 4)
        if planned_law(mechanism, 64, 64) is None:
            yield Verdict(subject, "drawn law", 1, 0, "× critical", untested="its noise has no law that is known")
            continue
        about: tuple[float, int] = budget.level, budget.seed
        if exact or epsilon in other:
            if not exact or epsilon in full:
                sized = (24, 2) if exact else (64, few)
                yield from long_run(wrappers, subject, *sized, *about, least, 3 if not exact else 1, promise)
            continue
        yield from long_run(wrappers, subject, largest, max(1, runs // 2), *about, least, promise=promise)
        yield from losing(wrappers, subject, largest, 2 * runs, *about, least, promise)
        yield from short_runs(wrappers, subject, 20 * runs, *about, least, promise)
        yield from other_sizes(wrappers, subject, mechanism, runs, *about, promise)
        if mechanism.hidden_by == "noise":
            yield from single_messages(wrappers, subject, max(2, runs // 2), *about, promise=promise)


def _mechanism_black(case: Case, budget: Budget) -> Iterator[Verdict]:
    for epsilon in _epsilons(case) if budget.thorough or case.make is None else (1.0,):
        env, mechanism, promise = _made(case, epsilon)
        subject = f"{case.subject} ε={mechanism.epsilon:g}"
        local, exact = mechanism.hidden_by == "noise", mechanism.sampler == "exact"
        runs = budget.samples // 20 if exact else budget.samples
        coded = "modulus" in mechanism.sends({"reward": Field(), "n": Field(dtype="i8")}, env)
        box = partial(
            black_box, env.wrappers, promise.epsilon, promise.delta, level=budget.level, subject=subject,
            promise=promise, bits=coded,
        )  # fmt: skip
        least = 1 if local else mechanism.smallest
        for i, (words, values, every) in enumerate(neighbours(promise)):
            about: dict[str, Any] = {"seed": budget.seed + 10 * i, "values": values, "every": every, "words": words}
            beyond = i > 0
            yield box(
                64 if least <= 2 else 2 * least,
                runs // 2 if beyond and not exact else runs,
                where=_ONE if beyond else _WHERE,
                **about,
            )
            if not beyond and not exact:
                yield box(
                    least,
                    runs,
                    where=(("zeros", "first"), ("ones", "last")),
                    **{**about, "words": f"{words}, few users"},
                )
                yield box(max(8, 2 * least), runs // 2, where=_ONE, loss=("behind", 0.3), **about)
        if local and not promise.delta:
            yield replace(one_run(mechanism, level=budget.level, seed=budget.seed), subject=subject, promise=promise)
        yield _bits(env, mechanism, promise, subject, 1 if local else 64, coded)


def _bits(env: Env, mechanism: Mechanism, promise: Guarantee, subject: str, n: int, coded: bool) -> Verdict:
    if not coded:
        declared = any("floating point" in a for a in promise.assumptions)
        return Verdict(
            subject, "lowest bits of a double", 0, 1, "kinds of noise",
            "nothing: a double's last bits tell, and the promise says so", promise=promise, declared=declared,
        )  # fmt: skip
    off, of = grid_bits(env.wrappers, n)
    return Verdict(subject, f"lowest bits: sums off the grid, of {of:,}", 0, off, "sums", promise=promise)


# -- everything else ------------------------------------------------------------------------------------------------


def _blocks_black(case: Case, budget: Budget) -> Iterator[Verdict]:
    """A wrapper that is no mechanism promises per report: blocks of one, and a message among others."""
    promise, wrapper = case.promises[0], cast(Wrapper, case.owner)
    for i, (words, values, every) in enumerate(neighbours(promise)):
        for n, where in ((1, (("zeros", "first"),)), (8, _ONE)):
            yield black_box(
                [wrapper], promise.epsilon, promise.delta, n, budget.samples, budget.level, budget.seed + 10 * i + n,
                case.subject, where, promise, False, values, every, None, words,
            )  # fmt: skip


def _messages(case: Case, budget: Budget) -> Iterator[Verdict]:
    """Short runs, of which as much is seen as there is; longer ones, in which what is not accounted for adds up."""
    for i, horizon in enumerate(ROUNDS):
        runs = budget.samples // 2
        seed = budget.seed + 100_000 * i
        yield from messages(case.env, cast(Wrapper, case.owner), runs, budget.level, seed, case.subject, horizon)


def _drawn_messages(case: Case, budget: Budget) -> Iterator[Verdict]:
    rounds, runs = (1500, 8) if not budget.thorough else (5000, 20)
    owner = cast(Wrapper, case.owner)
    yield from drawn_posts(case.env, owner, case.subject, rounds, runs, budget.level, budget.seed)


def _votes(case: Case, budget: Budget) -> Iterator[Verdict]:
    for epsilon in GRID if budget.thorough and case.subject == "DP-MASE" else (None,):
        team = cast(DPMASE, case.owner if epsilon is None else make_team("DP-MASE", epsilon=epsilon))
        promise = claims(team, case.env)[0]
        subject = f"{case.subject} ε={promise.epsilon:g}"
        yield epoch_votes(team, promise, 2 * budget.samples, budget.level, budget.seed, subject)


def audit(
    names: Sequence[str] = (),
    level: float = 1e-6,
    seed: int = 0,
    samples: int = 6000,
    thorough: bool = False,
    bar: Any = None,
) -> Iterator[Verdict]:
    """Audit registered envs, wrappers and agents, or classes of one's own (``module:Name``).

    Parameters
    ----------
    names : sequence of str
        Default: everything registered that promises or hides something.
    level : float
        Probability that an honest mechanism fails a statistical check, of each verdict.
    seed : int
    samples : int
        Runs a side of a black box.
    thorough : bool
        Black boxes and drawn laws at every ε of the grid.
    bar : optional
        Told of the work (`hushbandits.bench.play.progress.Bar`): ``bar.at(name)``, ``bar.advance(1)``.

    Raises
    ------
    ValueError
        Something that promises nothing, or an unknown name.
    """
    for check in checks(names, Budget(level, seed, samples, thorough)):
        if bar is not None:
            bar.at(f"{check.subject}: {check.what}")
        yield from check.run()
        if bar is not None:
            bar.advance(1)
