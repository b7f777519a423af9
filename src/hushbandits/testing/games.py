"""How checkers play: where a team or a wrapper has a game, what is seen of it, and what every game is asked."""

from __future__ import annotations

import copy
import difflib
import pickle
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np

from hushbandits.core import Array, Message, Params, Seeds
from hushbandits.core.each import Each
from hushbandits.core.env import Env
from hushbandits.core.env_view import EnvView, revealed
from hushbandits.core.guarantee import Guarantee, GuaranteeSource
from hushbandits.core.luck.tapes import run_seeds
from hushbandits.core.messages import Fields, Inbox
from hushbandits.core.play import meet
from hushbandits.core.team import Team
from hushbandits.core.utils import parameters
from hushbandits.core.utils import words as in_words
from hushbandits.registry import AnyEnv, AnyWrapper, assemble, list_envs, takes
from hushbandits.testing.compare import difference, repeatable, required, same

#: Tried in turn where nobody says how many: fewer agents may have no way to remove an arm.
AGENTS = (3, 5, 8, 16, 32, 64)
ROUNDS = 24
#: Rounds that are pickled, and after how many such a game is left.
PICKLED, ENOUGH = 8, 60

#: What builds an env and a team for a number of runs, and what plays them.
Built = Callable[[int], tuple[Env, Team]]
#: What was seen: ``"round 1"`` and so on, and at last ``"metrics"``.
Trace = dict[str, dict[str, Array]]
Play = Callable[[Env, Team, Seeds], Trace]


# -- playing --------------------------------------------------------------------------------------------------


def trace(env: Env, team: Team, seeds: int | Seeds, between: Callable[..., tuple] | None = None) -> Trace:
    """Play by the beats; return what was done, said, told and heard, round by round, and the final metrics.

    `between` is called with env, team and observation after each beat of the first rounds, and returns what goes on.
    """
    cls, seen = written(team), Trace()
    obs = env.reset(seeds)
    with calling(cls, "reset"):
        team.reset(EnvView(env), env.seeds)
    while obs.live.any() and (between is None or len(seen) < ENOUGH):
        through = between if between and len(seen) < PICKLED else _on
        at, live, who = f"round {len(seen) + 1}", obs.live.copy(), obs.who.copy()
        with calling(cls, "act", at):
            action = team.act(obs)
            env, team, obs = through(env, team, env.pull(action))
        parts = action if isinstance(action, tuple) else (action,)
        done = _kept("act", dict(zip(env.actions, parts, strict=True)), live)
        told = {} if obs.reward is None else {"own reward": obs.reward.copy()}  # else withheld
        for value in told.values():
            check_paid(f"{type(env).__name__}, {at}", value, env.told["reward"].range)
        with calling(cls, "speak", at):
            said = team.speak(obs.reward)
            words = _kept("say", _spoken(env, said), live)
            env, team, obs = through(env, team, env.talk(said))
        inbox = obs.inbox
        assert inbox is not None
        check_inbox(f"{type(env).__name__}, {at}", inbox, env.inbox_fields, env.n_arms)
        with calling(cls, "hear", at):
            team.hear(inbox)
        seen[at] = (
            {"live": live, "who": who, **done, **words, **told}
            | {f"own {field}": value.copy() for field, value in inbox.own.items()}
            | {"arrived": inbox.arrived.copy(), **{field: np.array(inbox[field]) for field in inbox.fields}}
        )
    seen["metrics"] = env.metrics()
    if not obs.live.any():
        with calling(cls, "metrics"), revealed(env) as its:
            own = team.metrics(its)
        check_metrics(cls, own, env.runs, taken=seen["metrics"])
        seen["metrics"] |= own
    return seen


def _on(*state: object) -> tuple:
    return state


def written(team: Team) -> type:
    """Return the class that somebody wrote: the agent's, where `Each` lifts it."""
    factory: object = team.factory if isinstance(team, Each) else type(team)
    return factory if isinstance(factory, type) else Each


def _spoken(env: Env, message: Message | None) -> Message:
    """What a message says: ``None`` is the standard report, and whoever is not named as silent speaks."""
    if not env.payload.named:
        return {}
    said = env.standard_report() if message is None else message
    said = {"sent": np.ones(env.who.shape, bool), **said}
    if "reward" in said and "reward" in env.told:
        low, high = env.told["reward"].range
        reward = np.asarray(said["reward"])[np.asarray(said["sent"], bool)]
        odd = reward[(reward < low) | (reward > high)]
        if odd.size:
            raise ValueError(f"it says a reward of {odd[:1]}; arms pay from {low:g} to {high:g}")
    return said


def _kept(what: str, done: Mapping[str, object], live: Array) -> dict[str, Array]:
    """Copies of what was done or said, 0 where a run has ended: there it is ignored."""
    kept = {f"{what} {name}": np.array(value) for name, value in done.items()}
    for value in kept.values():
        value[~live] = 0
    return kept


@contextmanager
def calling(cls: type, hook: str, when: str = "") -> Iterator[None]:
    """Turn what a hook raises into an ``AssertionError`` that names class, hook and time."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{cls.__name__}.{hook}{when and f', {when}'}: {in_words(error)}") from error


def check_inbox(whose: str, inbox: Inbox, fields: Fields, n_arms: int) -> None:
    """Raise ``AssertionError`` unless an inbox offers the fields that are declared, finite and of their shapes."""
    arrived = inbox.arrived
    required(arrived.dtype == bool and arrived.ndim == 3, f"{whose}: arrived must be bools (R, A, S)")
    required({*inbox.fields} == {*fields}, f"{whose}: the inbox offers {inbox.fields}, declared are {(*fields,)}")
    for field, form in fields.items():
        value, shape = np.asarray(inbox[field]), (*arrived.shape, *form.sized(n_arms).shape)
        required(
            value.shape[: len(shape)] == shape,
            f"{whose}: {field!r} of the inbox has shape {value.shape}, declared is {shape}",
        )
        known = value.ndim > len(shape) or bool(np.isfinite(value).all())  # users are padded with NaN
        required(known, f"{whose}: {field!r} of the inbox is not finite")


# -- what a class is asked ------------------------------------------------------------------------------------


def check_hooks(cls: type, base: type, hooks: Collection[str]) -> None:
    """Raise ``AssertionError`` where a method has almost the name of a hook, and the class lacks that hook.

    What `base`, where the contract stands, declares is no misprint; `hooks` are the methods that somebody calls.

    Examples
    --------
    >>> class Deaf(Team):
    ...     def heer(self, inbox): ...
    >>> check_hooks(Deaf, Team, ("act", "speak", "hear"))
    Traceback (most recent call last):
        ...
    AssertionError: Deaf.heer is called by nobody; the hook is hear
    """
    own = {name: value for c in cls.__mro__ if c not in base.__mro__ for name, value in vars(c).items()}
    for name in (name for name, value in own.items() if callable(value) and not name.startswith("_")):
        if name not in hooks and hasattr(base, name):
            data = not callable(getattr(base, name)) and not isinstance(getattr(base, name), property)
            required(not data, f"{cls.__name__}.{name} is a method; {name} of {base.__name__} is no hook, but data")
        elif name not in hooks:
            missing = [hook for hook in hooks if hook not in own]
            near = difflib.get_close_matches(name.lower(), missing, 1, 0.75)
            required(not near, f"{cls.__name__}.{name} is called by nobody; the hook is {''.join(near)}")


@contextmanager
def remembering(cls: type) -> Iterator[None]:
    """Raise ``AssertionError`` where data of a class changes meanwhile: its next instance would begin with it."""
    before = copy.deepcopy(_data(cls))
    yield
    for name, value in _data(cls).items():
        required(
            name in before and difference(before[name], value) is None,
            f"{name} is data of the class and changed in play: all instances share it; what a run learns belongs to "
            f"self, and begins anew in reset",
        )


def _data(cls: type) -> dict[str, object]:
    kinds = (int, float, str, bytes, list, dict, set, bytearray, np.ndarray, np.generic, type(None))
    return {
        f"{c.__name__}.{name}": value
        for c in cls.__mro__[:-1] for name, value in vars(c).items()
        if isinstance(value, kinds) and not name.startswith(("__", "_abc_"))
    }  # fmt: skip


def has_epsilon(cls: type, it: object) -> bool:
    """Whether what somebody wrote has an ε, and so must say what that promises."""
    return getattr(it, "epsilon", None) is not None or "epsilon" in parameters(cls)


def check_promises(who: GuaranteeSource, env: Env, noises: str) -> None:
    """Raise ``AssertionError`` unless promises are whole, and there is one where `noises` says why there must be."""
    cls = type(who)
    with calling(cls, "claimed_guarantees"):
        promised = who.claimed_guarantees(env)
        who.guarantees(env)
    required(
        isinstance(promised, tuple) and all(isinstance(g, Guarantee) for g in promised),
        f"{cls.__name__}.claimed_guarantees must return a tuple of Guarantee, not {promised!r}",
    )
    for g in promised:
        for name in ("mechanism", "view", "source"):
            required(bool(str(getattr(g, name)).strip()), f"{cls.__name__}.claimed_guarantees leaves {name} empty")
    required(
        bool(promised) or not noises or cls.claimed_guarantees is not GuaranteeSource.claimed_guarantees,
        f"{cls.__name__}.claimed_guarantees is not defined, but {cls.__name__} {noises}: return its Guarantee, or ()",
    )


def check_paid(whose: str, reward: Array, span: tuple[float, float]) -> None:
    """Raise ``AssertionError`` where a reward that was seen lies beyond the declared range."""
    beyond = reward[(reward < span[0]) | (reward > span[1])]
    required(not beyond.size, f"{whose}: a reward is {beyond[:1]}; declared are numbers in {span[0]:g}..{span[1]:g}")


def check_metrics(
    cls: type, metrics: object, runs: int, infinite: Collection[str] = (), taken: Collection[str] = ()
) -> None:
    """Raise ``AssertionError`` unless metrics are finite numbers, a row per run, and none is measured already.

    Those in `infinite` may be ∞; `taken` are the metrics of others.
    """
    whose = f"{cls.__name__}.metrics"
    if not isinstance(metrics, Mapping):
        raise AssertionError(f"{whose} must return a dict of arrays by name, not {metrics!r}")
    for name, value in metrics.items():
        array = np.asarray(value)
        required(name not in taken, f"{whose}: {name!r} is measured already; give it another name")
        required(
            array.dtype.kind in "biuf" and array.shape[:1] == (runs,),
            f"{whose}: {name!r} must be numbers of shape ({runs}, …), not {array.dtype} {array.shape}",
        )
        bad = np.isnan(array) if name in infinite else ~np.isfinite(array)
        required(not bad.any(), f"{whose}, {name!r}: must be finite numbers, and holds {array[bad][:1]}")


# -- what a game is asked -------------------------------------------------------------------------------------


def check_games(
    cls: type, builds: Iterable[Built], seed: int, promises: Callable[[Env, Team], None], play: Play = trace
) -> None:
    """Raise ``AssertionError`` unless a class plays as it should, wherever it was built.

    The seeds decide a game, a second game forgets the first, a run alone is its row, and promises are whole.
    """
    name = cls.__name__
    with remembering(cls):
        for build in builds:
            core, team = build(1)
            promises(core, team)
            # a number of runs that is no other size, so that no axis can stand for another
            seeds = run_seeds(seed, next(n for n in range(2, 5) if n not in (core.n_agents, core.n_arms)))
            batch = repeatable(lambda: play(*build(len(seeds)), seeds), name)  # noqa: B023
            core, team = build(len(seeds))
            play(core, team, run_seeds(7, len(seeds)))
            what = f"{name}.reset: a second game of one instance and the first of a new one"
            same(batch, play(core, team, seeds), what)
            check_rows(build, seeds, batch, name, play)


def check_rows(
    build: Built, seeds: Seeds, batch: Trace | None = None, whose: str = "a game", play: Play = trace
) -> None:
    """Raise ``AssertionError`` unless each run alone is its row of a batch, which may have been played already."""
    batch = play(*build(len(seeds)), seeds) if batch is None else batch
    for r in range(len(seeds)):
        alone = play(*build(1), seeds[r : r + 1])
        same(_row(alone, 0), _row(batch, r), f"{whose}: run {r} alone and its row of a batch")


def _row(game: Trace, r: int) -> dict[str, object]:
    """What a trace says of one run, while it goes on: slots are padded to the widest run, and cut to its own."""
    row: dict[str, object] = {}
    for at, told in game.items():
        if at == "metrics":
            row[at] = {name: value[r] for name, value in told.items()}
        elif told["live"][r]:
            slots = int((np.flatnonzero(told["arrived"][r].any(0)) + 1).max(initial=0))
            bare = {*told} - {"live", "who", *(name for name in told if " " in name)}
            row[at] = {name: value[r][:, :slots] if name in bare else value[r] for name, value in told.items()}
    return row


def check_pickle(build: Built) -> None:
    """Raise ``AssertionError`` unless a game goes on as it was where all that there is is pickled after every beat."""
    one, two = (trace(*build(2), 7, between) for between in (_on, pickled))
    same(one, two, "a game that is pickled after every beat, and one that is not,")


def pickled(*state: object) -> tuple:
    """Return what a pickle makes of some objects that belong together."""
    out: tuple = pickle.loads(pickle.dumps(state))
    return out


# -- where to play --------------------------------------------------------------------------------------------


def grounds(
    make: Callable[[], Team],
    env_id: AnyEnv | None = None,
    env: Params | None = None,
    wrappers: Sequence[AnyWrapper] = (),
    each: bool = False,
) -> Iterator[Built]:
    """Yield where a team can play, as functions of the number of runs; `each`: in one env of every setting.

    Without an id the envs of the registry are tried, then more agents; without sizes the game is small and short.
    ``ValueError``: it can play nowhere; the last refusal is told.
    """
    seen: set[str] = set()
    refusal: Exception | None = None
    for id in [env_id] if env_id is not None else list_envs():
        given = {**({"horizon": ROUNDS} if takes(id, "horizon") else {}), **(env or {})}
        open_size = takes(id, "n_agents") and "n_agents" not in given
        for size in [{"n_agents": n} for n in AGENTS] if open_size else [{}]:
            build = partial(_built, make, id, {**given, **size}, wrappers)
            try:
                with warnings.catch_warnings():  # of a size that is only tried
                    warnings.simplefilter("ignore")
                    setting = build(2)[0].setting
            except (ValueError, TypeError) as error:
                refusal = error
                continue
            if setting not in seen:
                seen.add(setting)
                yield build
            break
        if seen and not each:
            return
    if not seen:
        raise ValueError(f"no env to play in: {refusal}")


def _built(
    make: Callable[[], Team], env_id: AnyEnv, env: Params, wrappers: Sequence[AnyWrapper], runs: int
) -> tuple[Env, Team]:
    team = make()
    core = assemble(env_id, team, runs=runs, env=copy.deepcopy(env), wrappers=copy.deepcopy(wrappers))
    meet(core, team)
    return core, team
