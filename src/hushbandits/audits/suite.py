"""The audit: which checks every promise gets, and how many runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from hushbandits.audits.actions import actions
from hushbandits.audits.black import black_box, grid_bits, neighbours
from hushbandits.audits.blocks import BACKGROUNDS, POSITIONS
from hushbandits.audits.cases import GRID, Budget, Case, everything, hider, named
from hushbandits.audits.drawn import drawn_law
from hushbandits.audits.hiding import routes
from hushbandits.audits.network import ROUNDS, messages
from hushbandits.audits.one_run import one_run
from hushbandits.audits.posts import by_law
from hushbandits.audits.verdict import Verdict
from hushbandits.audits.votes import epoch_votes
from hushbandits.audits.white import compositions, every_size, white_box
from hushbandits.core.messages import Field
from hushbandits.envs.exploration.voting import VotingTeam
from hushbandits.registry import make_team
from hushbandits.wrappers.mechanism import Mechanism

__all__ = ["GRID", "LARGE", "UNSEEN", "Budget", "Check", "checks"]

_SIZES = (2, 19, 64, 1000)
#: Sizes of large blocks.
LARGE = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
_WHERE = tuple((b, p) for b in BACKGROUNDS for p in POSITIONS)
_ONE = (("mixed", "middle"),)

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
    """One group of verdicts, not yet run; `promises` names the classes that it checks, and who observes each."""

    subject: str
    what: str
    promises: tuple[tuple[str, str], ...]
    run: Callable[[], Iterator[Verdict]]


def checks(names: Sequence[str] = (), budget: Budget | None = None) -> list[Check]:
    """Return all checks of what is named (default: of everything registered that promises or hides something)."""
    budget = budget or Budget()
    found: list[Check] = []
    for name in names or everything():
        if (secure := hider(name)) is not None:
            make, kind = secure
            run = partial(routes, make, name, kind, budget)
            found.append(Check(name, "secure function", (), run))
        for case in named(name):
            if isinstance(case, Verdict):
                found.append(Check(case.subject, "what it is", (), partial(iter, [case])))
            else:
                found += _of(case, budget)
    return found


def _of(case: Case, budget: Budget) -> list[Check]:
    about = tuple((type(case.owner).__name__, g.view) for g in case.promises)
    kinds: dict[str, Callable[[], Iterator[Verdict]]] = {}
    if isinstance(case.owner, Mechanism):
        kinds = {"white box": partial(_exact, case, budget), "drawn law": partial(drawn_law, case, budget)}
        kinds["black box"] = partial(_mechanism_black, case, budget)
    elif case.team is not None and case.team.setting != "network":
        by_votes = isinstance(case.owner, VotingTeam) and case.owner.routine(2).several  # else its arms tell
        watch = _votes if by_votes else actions
        kinds = {"black box": partial(watch, case, budget)}
    elif case.env.payload.named:
        kinds = {"black box": partial(_messages, case, budget), **by_law(case, budget)}
    else:
        kinds = {"black box": partial(_blocks_black, case, budget)}
    kinds["one run"] = partial(one_run, case, budget)
    return [Check(case.subject, what, about, partial(_guarded, case.subject, what, run)) for what, run in kinds.items()]


def _guarded(subject: str, what: str, run: Callable[[], Iterator[Verdict]]) -> Iterator[Verdict]:
    """A check of a stranger's code may raise anything: that is shown, and the others go on."""
    try:
        yield from run()
    except Exception as error:
        yield Verdict(subject, f"{what}: {type(error).__name__}: {error}", 0, 1, "errors")


# -- mechanisms of the feedback setting -----------------------------------------------------------------------------


def _exact(case: Case, budget: Budget) -> Iterator[Verdict]:
    for epsilon in case.epsilons:
        made = case.at(epsilon)
        mechanism, promise, subject = made.owner, made.promises[0], made.subject
        least = mechanism.smallest
        most = min(budget.largest, 256 if epsilon == 1 else 64)
        yield from every_size(mechanism, subject, promise, range(least, most + 1))
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


def _mechanism_black(case: Case, budget: Budget) -> Iterator[Verdict]:
    for epsilon in case.epsilons if budget.thorough or case.make is None else (1.0,):
        made = case.at(epsilon)
        env, mechanism, promise, subject = made.env, made.owner, made.promises[0], made.subject
        local, exact = mechanism.hidden_by == "noise", mechanism.sampler == "exact"
        runs = budget.samples // 20 if exact else budget.samples
        coded = "modulus" in mechanism.sends({"reward": Field(), "n": Field(dtype="i8")}, env)
        least = 1 if local else mechanism.smallest
        for i, change in enumerate(neighbours(promise)):
            box = partial(
                black_box, env.wrappers, promise.epsilon, promise.delta, level=budget.level, subject=subject,
                promise=promise, bits=coded, seed=budget.seed + 10 * i, change=change, kind=type(env),
            )  # fmt: skip
            large = 64 if least <= 2 else 2 * least
            if i:
                yield box(large, runs if exact else runs // 2, where=_ONE)
                continue
            yield box(large, runs, where=_WHERE)
            if not exact:
                few = replace(change, words=f"{change.words}, few users")
                yield box(least, runs, where=(("zeros", "first"), ("ones", "last")), change=few)
                yield box(max(8, 2 * least), runs // 2, where=_ONE, loss=("behind", 0.3))
        if coded:
            off, of = grid_bits(env.wrappers, 1 if local else 64)
            yield Verdict(subject, f"lowest bits: sums off the grid, of {of:,}", 0, off, "sums", promise=promise)
        else:
            declared = not exact and set(mechanism.arithmetic) <= set(promise.assumptions)
            yield Verdict(
                subject, "lowest bits of a double", 0, 1, "kinds of noise",
                "nothing: a double's last bits tell, and the promise says so", promise=promise, declared=declared,
            )  # fmt: skip


# -- everything else ------------------------------------------------------------------------------------------------


def _blocks_black(case: Case, budget: Budget) -> Iterator[Verdict]:
    """A wrapper that is no mechanism promises per report: blocks of one, and a message among others."""
    promise = case.promises[0]
    for i, change in enumerate(neighbours(promise)):
        for n, where in ((1, (("zeros", "first"),)), (8, _ONE)):
            yield black_box(
                [case.owner], promise.epsilon, promise.delta, n, budget.samples, budget.level,
                budget.seed + 10 * i + n, case.subject, where, promise, False, change, kind=type(case.env),
            )  # fmt: skip


def _messages(case: Case, budget: Budget) -> Iterator[Verdict]:
    """Short runs, of which as much is seen as there is; longer ones, in which what is not accounted for adds up."""
    for i, horizon in enumerate(ROUNDS):
        yield from messages(case, replace(budget, seed=budget.seed + 100_000 * i), horizon)


def _votes(case: Case, budget: Budget) -> Iterator[Verdict]:
    for epsilon in GRID if budget.thorough and case.subject == "DP-MASE" else (None,):
        team = case.owner if epsilon is None else make_team("DP-MASE", epsilon=epsilon)
        made = replace(case, owner=team)
        yield epoch_votes(replace(made, subject=f"{case.subject} ε={made.promises[0].epsilon:g}"), budget)
