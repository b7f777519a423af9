"""What the checkers of agents, wrappers and policies share: names of hooks, memory of a class, promises, a ground."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from hushbandits.core.entries import AnyEnv, AnyWrapper, parameters
from hushbandits.core.env import Env
from hushbandits.core.ground.names import words
from hushbandits.core.ground.types import Array, Params, Seeds
from hushbandits.core.guarantee import Guarantee, Promising
from hushbandits.core.habits import misspelt
from hushbandits.core.luck.tapes import run_seeds
from hushbandits.core.play import meet
from hushbandits.core.team import Team
from hushbandits.registry import assemble, list_envs, takes
from hushbandits.testing.seen import difference, globals_kept, mapped, repeatable, required, same, untouched

__all__ = ["calling", "check_games", "check_hooks", "check_metrics", "grounds", "remembering", "says_epsilon"]

#: Tried in turn where nobody says how many: fewer agents may have no way to remove an arm.
AGENTS = (3, 5, 8, 16, 32, 64)
ROUNDS = 24


def check_hooks(cls: type, base: type, hooks: Sequence[str]) -> None:
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
    for c in (c for c in cls.__mro__ if c not in base.__mro__):
        for name, value in vars(c).items():
            data = not callable(getattr(base, name, len)) and not isinstance(getattr(base, name), property)
            if data and callable(value) and not isinstance(value, type):
                required(False, f"{c.__name__}.{name} is a method; {name} of {base.__name__} is no hook, but data")
    for name, meant in misspelt(cls, hooks, base):
        required(False, f"{cls.__name__}.{name} is called by nobody; the hook is {meant[0]}")


@contextmanager
def calling(cls: type, hook: str, when: str = "") -> Iterator[None]:
    """Turn what a hook raises into an ``AssertionError`` that names class, hook and time."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{cls.__name__}.{hook}{when and f', {when}'}: {words(error)}") from error


@contextmanager
def remembering(cls: type) -> Iterator[None]:
    """Raise ``AssertionError`` where data of a class changes meanwhile: its next instance would begin with it."""
    before = {(c, name): copy.deepcopy(value) for c, name, value in _data(cls)}
    yield
    for c, name, value in _data(cls):
        required(
            (c, name) in before and difference(_plain(before[c, name]), _plain(value)) is None,
            f"{c.__name__}.{name} is data of the class and changed in play: all instances share it; "
            f"what a run learns belongs to self, and begins anew in reset",
        )


def _data(cls: type) -> Iterator[tuple[type, str, object]]:
    kinds = (int, float, str, bytes, list, dict, set, bytearray, np.ndarray, np.generic, type(None))
    for c in cls.__mro__[:-1]:
        for name, value in list(vars(c).items()):
            if not name.startswith(("__", "_abc_")) and isinstance(value, kinds):
                yield c, name, value


def _plain(value: object) -> object:
    """Containers as `difference` reads them."""
    if isinstance(value, set):
        return sorted(map(repr, value))
    if isinstance(value, dict):
        return {key: _plain(x) for key, x in value.items()}
    return [_plain(x) for x in value] if isinstance(value, (list, tuple)) else value


def says_epsilon(it: object, cls: type) -> bool:
    """Whether what somebody wrote has an ε, and so must say what that promises."""
    return getattr(it, "epsilon", None) is not None or "epsilon" in parameters(cls)


def _check_promises(who: Promising, env: Env, noises: str) -> None:
    """Raise ``AssertionError`` unless promises are whole, and there is one where `noises` says why there must be."""
    cls = type(who)
    with calling(cls, "promises"):
        promised = who.promises(env)
        who.privacy(env)
    required(
        isinstance(promised, tuple) and all(isinstance(g, Guarantee) for g in promised),
        f"{cls.__name__}.promises must return a tuple of Guarantee, not {promised!r}",
    )
    for g in promised:
        for name in ("mechanism", "view", "source"):
            required(bool(str(getattr(g, name)).strip()), f"{cls.__name__}.promises leaves {name} empty")
    required(
        bool(promised) or not noises or cls.promises is not Promising.promises,
        f"{cls.__name__}.promises is not defined, but {cls.__name__} {noises}: return its Guarantee, or () for none",
    )


def check_metrics(cls: type, metrics: Mapping[str, Array], infinite: Collection[str] = ()) -> None:
    """Raise ``AssertionError`` unless metrics are finite numbers; those in `infinite` may be ∞."""
    for name, array in metrics.items():
        bad = np.isnan(array) if name in infinite else ~np.isfinite(array)
        required(not bad.any(), f"{cls.__name__}.metrics, {name!r}: must be finite numbers, and holds {array[bad][:1]}")


#: What builds an env and a team for a number of runs; what plays them, and returns what was seen, by when; and who
#: promises something there, with the reason why it must, if there is one.
Built = Callable[[int], tuple[Env, Team]]
Play = Callable[[Env, Team, Seeds], Mapping[str, object]]
Promises = Callable[[Env, Team], tuple[Promising, str]]


def check_games(cls: type, builds: Iterable[Built], promises: Promises, play: Play, seed: int) -> None:
    """Raise ``AssertionError`` unless a class keeps its promises and plays as it should, wherever it was built."""
    with globals_kept(), remembering(cls):
        for build in builds:
            core, team = build(1)
            who, noises = promises(core, team)
            _check_promises(who, core, noises)
            # a number of runs that is no other size, so that no axis can stand for another
            runs = next(n for n in range(2, 5) if n not in (core.n_agents, core.n_arms))
            _check_play(cls, build, play, run_seeds(seed, runs))


def _check_play(cls: type, build: Built, play: Play, seeds: Seeds) -> None:
    """The seeds decide a game, a run alone is its row, and a second game forgets."""

    def guarded(runs: Seeds) -> Mapping[str, object]:
        core, team = build(len(runs))
        with untouched(f"{cls.__name__}: it"):
            return play(core, team, runs)

    elsewhere = "it draws from elsewhere than its seeds, or two games"
    first = repeatable(lambda: guarded(seeds), f"{cls.__name__}: the same seed", elsewhere)
    core, team = build(len(seeds))
    play(core, team, run_seeds(7, len(seeds)))
    again = play(core, team, seeds)
    same(first, again, f"{cls.__name__}.reset: a second game of one instance and the first of a new one")
    for r in range(len(seeds)):
        for at, seen in guarded(seeds[r : r + 1]).items():
            row = mapped(first.get(at), lambda x: x[r : r + 1] if x.shape[:1] == (len(seeds),) else x)  # noqa: B023
            same(seen, row, f"{cls.__name__}: run {r} alone and its row of a batch, {at},")


def grounds(
    make: Callable[[], Team], env_id: AnyEnv | None, env: Params, wrappers: Sequence[AnyWrapper], each: bool = False
) -> Iterator[Built]:
    """Yield where a team can play, as functions of the number of runs; `each`: in one env of every setting.

    Without an id the envs of the registry are tried, then more agents; without sizes the game is small and short.
    ``ValueError``: it can play nowhere; the last refusal is told.
    """
    seen: set[str] = set()
    refusal: Exception | None = None
    for id in [env_id] if env_id is not None else list_envs():
        small = {"horizon": ROUNDS} if takes(id, "horizon") and "horizon" not in env else {}
        sizes: Sequence[Params] = [{"n_agents": n} for n in AGENTS] if takes(id, "n_agents") else [{}]
        for size in sizes if "n_agents" not in env else [{}]:
            built = _built(make, id, {**small, **size, **env}, wrappers)
            try:
                with warnings.catch_warnings():  # of a size that is only tried
                    warnings.simplefilter("ignore")
                    setting = built(2)[0].setting
            except (ValueError, TypeError) as error:
                refusal = error
                continue
            if setting not in seen:
                seen.add(setting)
                yield built
            break
        if seen and not each:
            return
    if not seen:
        raise ValueError(f"no env to play in: {refusal}")


def _built(make: Callable[[], Team], env_id: AnyEnv, env: Params, wrappers: Sequence[AnyWrapper]) -> Built:
    def build(runs: int) -> tuple[Env, Team]:
        team = make()
        core = assemble(env_id, team, runs=runs, env=copy.deepcopy(env), wrappers=copy.deepcopy(wrappers))
        meet(core, team)
        return core, team

    return build
