"""Black-box checks of guarantees, and the list of all checks of an audit.

Black-box checks bound ε from below by runs on neighbouring inputs: blocks of users, agents on a graph, actions and
votes.  They rely on no declaration of the mechanism.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import NamedTuple, cast

import numpy as np

from hushbandits.audits.cases import Budget, Case, Verdict, everything, hider, named
from hushbandits.audits.events import ABOVE, Change, apart, fair, features, neighbours, one_run
from hushbandits.audits.hiding import routes
from hushbandits.audits.laws import DRAWN, EXACT
from hushbandits.audits.play import BACKGROUNDS, Mirror, Prescribed, around, block, place, rounds, seen, shown, stage
from hushbandits.audits.silos import SILOS
from hushbandits.best_arm.private_elimination import epoch_length, radii
from hushbandits.core import Array, Guarantee, Team
from hushbandits.envs.exploration.voting import VotingTeam
from hushbandits.envs.feedback.env import Feedback
from hushbandits.registry import assemble
from hushbandits.wrappers.mechanism import Mechanism

#: Backgrounds of blocks, with the changed user in the middle of a mixed block, first of zeros, and last of ones.
_WHERE, _ONE, _ENDS = tuple(BACKGROUNDS), (7,), (0, 5)
#: Agents on a graph, and a later round in which a reward changes.
_AGENTS, _MIDDLE = 2, 1
#: Users of a run, or its rounds.
USERS = 64
#: Arms of a server, of a learner with two arms, and of a ballot.
_ARMS, _RIVALS, _BALLOT = 2, 3, 5
#: Distance of the neighbours' sums from the threshold of a noiseless vote, in noise scales; 0: they straddle it.
_SHORT = (0.0, 1.0, 3.0, -1.5)


# -- blocks of users --------------------------------------------------------------------------------------------------


def on_blocks(case: Case) -> Iterator[Verdict]:
    """Yield verdicts of black-box checks on blocks of users; a mechanism is also checked with lost users."""
    if not isinstance(case.owner, Mechanism):
        for change in neighbours(case.promise):
            yield black_box(case, change, 1, _ENDS[:1])
            yield black_box(case, change, 8)
        return
    for made in case.over(*case.budget.full):
        local, exact = made.owner.hidden_by == "noise", made.owner.noise == "exact"  # user by user: slow
        least = 1 if local else made.owner.smallest
        within, beyond = neighbours(made.promise)
        large = 64 if least <= 2 else 2 * least
        yield black_box(made, within, large, _WHERE, share=20 if exact else 1)
        yield black_box(made, beyond, large, share=20 if exact else 2)
        if not exact:
            yield black_box(made, within, least, _ENDS)
            yield black_box(made, within, max(8, 2 * least), how="behind", share=2)
        if "modulus" in made.env.sent_fields:
            yield _grid(made, 1 if local else 64)


def black_box(
    case: Case, change: Change, n: int = 64, where: Sequence[int] = _ONE, how: str = "", share: int = 1
) -> Verdict:
    """Return a verdict with a lower bound on a case's ε, from outputs on neighbouring blocks of n users.

    The budget's samples (over `share`) are runs per input: 1,500 detect a mechanism that is two times off at ε = 1,
    40,000 at ε = .1.  `where`: backgrounds, which share the runs.  `how`: where users are lost.
    """
    samples = 2 * (case.budget.samples // share)
    length = 3 if change.every else 2  # blocks of an episode: the user is in the first one, or in all
    runs = min(-(-samples // len(where)), 1000)
    kinds = list(where) * -(-samples // (runs * len(where)))
    seed = case.budget.seed + 1000 * (change.words == ABOVE)
    bits = fair((len(kinds), runs, 1), seed + n, 1)

    def play() -> dict[str, Array]:
        rewards = np.where(bits, *change.values[::-1])
        last = length if change.every else 1
        given = [block(kind, n, rewards[i] * (b < last)) for i, kind in enumerate(kinds) for b in range(length)]
        it = seen(case.env, given, runs, seed, how)
        views: dict[str, Array] = {k: x.reshape(len(kinds), length, runs) for k, x in it.fields.items()}
        views["reward"] -= np.array([block(kind, n, 0.0).sum() for kind in kinds])[:, None, None]
        views = {k: x.transpose(1, 0, 2).reshape(length, -1) for k, x in views.items()}
        if it.users:  # a single message, if no part hides it, and another one
            at = [(it.users[i * length][:, 0], place(kind, n)) for i, kind in enumerate(kinds)]
            views["users' message"] = np.concatenate([x[:, [k - 1, k]] for x, k in at])[None]
        return features(views)

    check = f"{change.words}, n = {n}{f', users lost {how} it' if how else ''}"
    return apart(case, check, bits.ravel(), play, np.repeat(kinds, runs))


def _grid(case: Case, n: int, runs: int = 400) -> Verdict:
    """Check that each decoded sum of an integer-coded protocol lies on the grid, which has step 1/g."""
    it = seen(case.env, [block(kind, n, reward) for kind in (2, 5, 8) for reward in (0.0, 1.0)], runs)
    plan = it.env.mechanism.planned(n)
    steps = (it.fields["reward"] + n * getattr(plan.noise, "mean", 0.0)) * plan.g
    steps = steps[~np.isnan(steps)]
    # rounding error of division and multiplication by g: an ulp or two
    off = int((np.abs(steps - np.rint(steps)) > 4 * np.spacing(np.maximum(np.abs(steps), n * 1.0))).sum())
    check = f"lowest bits: sums off the grid, of {steps.size:,}"
    return Verdict(case.subject, check, 0, off, "sums", promise=case.promise)


# -- agents on a graph ------------------------------------------------------------------------------------------------


def on_graph(case: Case, horizons: Sequence[int] = (3, 16)) -> Iterator[Verdict]:
    """Test every guarantee by the messages that are sent and received on neighbouring sequences of rewards.

    Short runs show as much as possible; in longer ones unaccounted costs add up.  A guarantee about a run must cover
    agents that show their published own rewards (`Mirror`).  If a wrapper publishes other values than the rewards, all
    of these count as seen, since actions depend on them.  A guarantee about a message `alone` is played with fixed
    arms, and tested on that message.  An agent with a guarantee plays itself.
    """
    bits = fair(case.budget.samples, case.budget.seed, 2)
    for horizon in horizons[:1] if case.promise.single_release else horizons:
        for made in promised(stage(case, horizon, _AGENTS)):
            if made.promise.adjacency.replaced == "none":
                yield Verdict(case.subject, "black box", 0, 0, untested="neighbours differ in nothing to be hidden")
                continue
            for k, (words, change, who, when) in enumerate(_sequences(made.promise)):
                given = np.full((horizon, len(bits), _AGENTS), 1.0 if when == _MIDDLE else 0.5)
                given[when, :, who] = np.where(bits, *change.values[::-1])
                play = partial(_posted, made, given, case.budget.seed + 1000 * k + horizon)
                yield apart(made, f"{words}, {horizon} rounds", bits, play, refusing=change.words == ABOVE)


def _posted(case: Case, given: Array, seed: int) -> dict[str, Array]:
    staged, alone = stage(case, len(given), _AGENTS, runs=given.shape[1]), case.promise.single_release
    it = shown(staged, case.team or (around() if alone else Mirror()), seed, list(given)).fields
    if alone:
        it = {name: x[:1] for name, x in it.items() if not name.startswith(("published ", "heard "))}
    return features(it, not alone)


def _sequences(promise: Guarantee) -> Iterator[tuple[str, Change, int, int | slice]]:
    """Yield the changes that test a guarantee, each as description, `Change`, agent and changed rounds."""
    within, beyond = neighbours(promise)
    whole = promise.adjacency.replaced == "participant"
    when = slice(None) if whole else 0
    for who in range(1 if promise.single_release else _AGENTS):
        yield f"all rewards of agent {who}" if whole else f"agent {who}'s first reward", within, who, when
    if not whole and not promise.single_release:
        yield "a reward in the middle", within, 0, _MIDDLE
    yield ABOVE, beyond, 0, when


def promised(case: Case) -> Iterator[Case]:
    """Yield a case for each finite guarantee, then for each guarantee that composes over a participant's run."""
    yield from (replace(case, claim=g) for g in case.promises)
    for g in case.promises:
        if g.run is not None and not g.single_release and g.adjacency.replaced != "participant":
            whole = replace(g.adjacency, words=g.run.words, replaced="participant")
            epsilon, delta = g.run.times * g.epsilon, min(1.0, g.run.times * g.delta)
            yield replace(case, claim=replace(g, epsilon=epsilon, delta=delta, run=None, adjacency=whole))


# -- actions and votes ------------------------------------------------------------------------------------------------


def places(horizon: int) -> list[int]:
    """Return the rounds whose rewards are changed: one in each phase of an agent whose phases double in length."""
    return [0, 1, *(5 * 2**k // 2 for k in range(16) if 5 * 2**k // 2 < 0.75 * horizon)]


def acted(team: Team, given: Array, seed: int, at: int = 0) -> dict[str, Array]:
    """Play a server on the rewards `given` ``(T, R)``; return features of the arms, and the number of users per block.

    `at`: the user whose block's arm is compared with later ones.
    """
    horizon, runs = given.shape
    settings = {"means": [0.5] * _ARMS, "rewards": Prescribed(), "permute_arms": False, "horizon": horizon}
    env = cast(Feedback, assemble(Feedback, team, runs=runs, env={"simulate_users": "individual", **settings}))
    user = np.arange(horizon)
    users, arms, has = [], [], []
    env.law.now = lambda: given.T[(env.served - env._n <= user) & (user < env.served)]  # type: ignore[attr-defined]
    for played in rounds(env, team, seed):
        there, served = env._n[:, 0], env.served[:, 0]
        users.append(np.where(there > 0, there, np.nan))
        arms.append(np.where(there > 0, played.action[0][:, 0], np.nan))
        has.append((served - there <= at) & (at < served))
    return _compared(np.array(arms), np.array(has)) | {"users": np.array(users)}


def chosen(team: Team, given: Array, seed: int, at: int = 0) -> dict[str, Array]:
    """Return features of a learner's arms and votes on the rewards `given`; an arm is NaN in a round without a pull.

    `at`: the round whose arm is compared with later ones.
    """
    arms, votes = _learned(team, np.repeat(given[..., None], _RIVALS, 2), seed)
    return _compared(arms, (np.arange(len(arms)) == at)[:, None]) | {"vote": votes}


def _learned(team: Team, given: Array, seed: int, **settings: object) -> tuple[Array, Array]:
    """Return a learner's arm and votes (coded as one number) in each round, on the rewards `given` ``(T, R, K)``."""
    horizon, runs, k = given.shape
    settings |= {"means": [0.5] * k, "rewards": Prescribed(), "horizon": horizon}
    env = assemble("DPMASE-v0", team, runs=runs, env=settings)
    arms, votes = np.full((horizon, runs), np.nan), np.zeros((horizon, runs))
    for played in rounds(env, team, seed, list(given)):
        pulled = np.asarray(played.action)[:, 0]
        arms[played.t] = np.where(pulled.any(1), pulled.argmax(1), np.nan)
        if played.said is not None:
            votes[played.t] = np.asarray(played.said["vote"])[:, 0] @ 2.0 ** np.arange(k)
    return arms, votes


def _compared(arms: Array, has: Array) -> dict[str, Array]:
    """Return features: arms, whether each later arm equals the changed reward's arm, and the number of equal arms."""
    known = np.nan_to_num(arms)
    later = np.cumsum(has, 0) - has > 0
    same = np.where(later & ~np.isnan(arms), arms == np.where(has, known, 0).sum(0), np.nan)
    return {"arm": arms, "same arm": same, "how often the same arm": np.nansum(same, 0)[None]}


def actions(case: Case) -> Iterator[Verdict]:
    """Yield verdicts that bound the ε of an agent's actions or votes from below."""
    for made in case.over(*case.budget.full):
        by_votes = isinstance(made.owner, VotingTeam) and made.owner.routine(2).several  # else its arms reveal rewards
        yield from _votes(made) if by_votes else _arms(made)


def _arms(case: Case) -> Iterator[Verdict]:
    """Bound ε from below by an agent's arms: one reward changes, in each phase in turn; the others are all 0 or all 1.

    The observer sees the arms, the lengths of blocks, the votes, and which later arms equal that of the changed
    reward.  An agent that plays in its own env gets rewards in [0, 1] only.
    """
    server, (within, *beyond) = isinstance(case.env, Feedback), neighbours(case.promise)
    changes = [*((within, at) for at in places(USERS)), *((change, 0) for change in beyond if server)]
    for k, ((change, at), rest) in enumerate(product(changes, (0.0, 1.0))):
        bits = fair(2 * case.budget.samples, case.budget.seed, k)
        given = np.full((USERS, len(bits)), rest)
        given[at] = np.where(bits, *change.values[::-1])
        play = partial(acted if server else chosen, case.owner, given, case.budget.seed + k, at)
        check = f"actions, {change.words}, user {at} among rewards {rest:g}"
        yield apart(case, check, bits, lambda: features(play(), differences=False))  # noqa: B023


def _votes(case: Case) -> Iterator[Verdict]:
    """Bound ε from below by an agent's first votes, at several distances of the reward sum from the voting threshold.

    This applies to DP-MASE, and to agents with its schedule: R(1) activations, then a vote.  All arms but one have
    reward 0.  That one has one reward more or less, near the point where the noiseless rule is so many noise scales
    short of votes against the others.  The number of votes reveals its noisy sum: several arms average their own noise.
    """
    epsilon, beta, seed = case.promise.epsilon, case.owner.beta, case.budget.seed
    due = int(epoch_length(_BALLOT, 1, epsilon, beta))
    h, c = radii(_BALLOT, 1, epsilon, beta, float(due))
    for i, short in enumerate(_SHORT):
        bits = fair(4 * case.budget.samples, seed, i)
        wins = min(max(math.floor(2 * (h + c) * due - short / epsilon), 0), due - 1) + bits
        given = np.zeros((due, len(bits), _BALLOT), bool)
        given[..., 0] = np.arange(due)[:, None] >= due - wins  # the changed reward is one in the middle

        def play(given: Array = given, i: int = i) -> dict[str, Array]:
            votes = np.bitwise_count(_learned(case.owner, given, seed + i, n_agents=1)[1].astype(int))
            return features({"votes": votes[-1:], "votes before": votes[:-1].sum(0)[None]})

        yield apart(case, f"votes, {short:g} scales short", bits, play)


#: Faults that no black-box check detects, with reasons.
UNSEEN = {
    "a trigger that is never played": "noise missing at one size that is not played, or after more blocks than any run",
    "a secret trigger": "honest in all runs without the key: a certain seed, a certain sequence of rewards",
    "a rare fault": "noise missing in fewer blocks than a check's stated share is within its error",
    "another channel": "time taken, files, memory: the audit sees messages and inboxes",
    "randomness that only its maker knows": "seeded noise has its law for all who do not know the seed",
}


class Check(NamedTuple):
    """A check of one subject: `run` yields the verdicts; `promises` names each guarantee's owner class and observer."""

    subject: str
    what: str
    promises: tuple[tuple[str, str], ...]
    run: Callable[[], Iterator[Verdict]]


def checks(names: Sequence[str] = (), budget: Budget | None = None) -> list[Check]:
    """Return all checks of the envs, wrappers and agents in `names`, which is `everything()` by default."""
    budget = budget or Budget()
    found: list[Check] = []
    for name in names or everything():
        if (secure := hider(name)) is not None:
            found.append(Check(name, "secure function", (), partial(routes, secure[0], name, secure[1], budget)))
        for it in named(name):
            if isinstance(it, Verdict):
                found.append(Check(it.subject, "what it is", (), partial(iter, [it])))
                continue
            case = replace(it, budget=budget)
            about = tuple((type(case.owner).__name__, g.view) for g in case.promises)
            for what, check in _kinds(case).items():
                found.append(Check(case.subject, what, about, partial(_guarded, check, what, case)))
    return found


def _kinds(case: Case) -> dict[str, Callable[[Case], Iterator[Verdict]]]:
    if case.watched == "silos":
        return dict(SILOS)
    kinds = {
        what: check for what, checks in (("white box", EXACT), ("drawn law", DRAWN)) for kind, check in checks.items()
        if isinstance(case.owner, kind) and (kind is Mechanism or case.watched == "agents")
    }  # fmt: skip
    kinds["black box"] = {"users": on_blocks, "agents": on_graph, "actions": actions}[case.watched]
    return {**kinds, "one run": one_run}


def _guarded(check: Callable[[Case], Iterator[Verdict]], what: str, case: Case) -> Iterator[Verdict]:
    """Yield the verdicts of a check; an exception becomes a failed verdict, so that the other checks continue."""
    try:
        yield from check(case)
    except Exception as error:
        yield Verdict(case.subject, f"{what}: {type(error).__name__}: {error}", 0, 1, "errors")
