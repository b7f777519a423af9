"""What agents are told of their own rewards: folded from the wrappers' declarations, and held against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hushbandits.core.edge import as_array, checked, handed
from hushbandits.core.fold import declared_fields
from hushbandits.core.ground.types import Array, Message
from hushbandits.core.ground.validate import nearest, shown
from hushbandits.core.messages import Field, Fields
from hushbandits.core.undeclared import added
from hushbandits.core.world import World
from hushbandits.core.wrapper import Wrapper

__all__ = ["Told", "check_unit_rewards"]


def check_unit_rewards(who: str, env: World, heard: bool = False) -> None:
    """Refuse an env that hands its agents rewards beyond [0, 1], for a rule that is defined on [0, 1] alone.

    Parameters
    ----------
    who : str
        Whose rule it is.
    env : World
        The env, or its face.
    heard : bool
        Whether the rule learns from reports of other agents, too.  A report that an adversary replaced is no reason.

    Raises
    ------
    ValueError
        Names the law, where it is shown, or the wrapper that takes rewards beyond.
    """
    reward = env.told.get("reward")
    if reward is not None and (reward.range[0] < 0.0 or reward.range[1] > 1.0):
        tellers = [wrapper.name for wrapper in env.wrappers if type(wrapper).tell is not Wrapper.tell]
        law = getattr(env, "law", None)  # one of one's own is not shown
        paid = f"those of {tellers[0]}" if tellers else "those of this env" if law is None else repr(law)
        raise ValueError(f"{who} needs rewards in [0, 1], not {paid}")
    noisy = [wrapper.name for wrapper in env.wrappers if "add" in wrapper.verbs]
    if heard and noisy:
        raise ValueError(f"{who} needs reports of rewards in [0, 1], not those of {noisy[0]}")


class Told:
    """The third direction: `Wrapper.tells`, folded.

    Parameters
    ----------
    wrappers : sequence of Wrapper
        As the env has them, outermost first.
    reported : Fields
        What is said of agents: of it they are told less where ``reward`` is withheld.
    env : World
    """

    def __init__(self, wrappers: Sequence[Wrapper], reported: Fields, env: World):
        fields: Fields = {"reward": Field(low=0.0, high=1.0) if env.law.unit_interval else Field()}
        #: Who changes what agents are told: its place among the wrappers, and the reward as it declares it.
        self._tellers: list[tuple[int, Field]] = []
        #: Wrapper by wrapper: what is told before it, and behind it.
        steps: list[tuple[Wrapper, Fields, Fields]] = []
        for i, wrapper in enumerate(wrappers):
            before, fields = fields, declared_fields(wrapper, "tells", wrapper.tells(dict(fields), env))
            steps.append((wrapper, before, fields))
            if type(wrapper).tell is not Wrapper.tell:
                self._tellers.append((i, fields.get("reward", Field())))
        self.fields = fields
        #: Fields that user-defined wrappers add, undeclared.
        self.added = added("tells", steps)
        #: What they are told in place of rewards.
        self.beside: Fields = {name: field for name, field in fields.items() if name != "reward"}
        #: What is reported of them that they are not told.
        self.withheld = ("reward",) if "reward" not in fields and "reward" in reported else ()

    def reward(self, reward: Array, wrappers: Sequence[Wrapper], strangers: Sequence[Wrapper], env: World) -> Array:
        """Return what the wrappers make of rewards ``(R, A, …)``; what a stranger's makes is checked."""
        for i, field in self._tellers:
            told = wrappers[i].tell(reward, env)
            reward = _held(wrappers[i], field, reward, told) if wrappers[i] in strangers else told
        return reward

    def published(self, wrappers: Sequence[Wrapper], lead: tuple[int, ...], env: World) -> dict[str, Array]:
        """Return what agents are told in place of their rewards, ``(R, A, …)`` each, checked."""
        out: dict[str, Array] = {}
        for wrapper in wrappers:
            said = wrapper.told(env)
            if not isinstance(said, Mapping):
                raise TypeError(f"{wrapper.name}.told must return a dict of arrays by field, not {shown(said)}")
            for name, value in said.items():
                if name not in self.beside:
                    raise ValueError(
                        f"{wrapper.name}.told: no tells() declares {name!r}{nearest(str(name), self.beside)}"
                    )
                out[name] = handed(checked(name, value, self.beside[name], lead, f"{wrapper.name}.told"))
        if missing := [name for name in self.beside if name not in out]:
            raise ValueError(f"tells() declares {missing[0]!r}, and no wrapper's told() gives it")
        return out

    def filled(self, message: Message, report: Message) -> Message:
        """Return what a team says, with what is reported of its agents without their being told."""
        if not self.withheld or not isinstance(message, Mapping):
            return message
        if beyond := [name for name in self.withheld if name in message]:
            raise ValueError(f"message has a field {beyond[0]!r}, which agents are not told here; leave it out")
        return {**message, **{name: report[name] for name in self.withheld}}


def _held(wrapper: Wrapper, field: Field, before: Array, told: Array) -> Array:
    """Return what a wrapper tells, NaN where nothing was seen; ``ValueError`` where it is not what it declares."""
    seen = ~np.isnan(before)
    inner, array = replace(field, shape=before.shape[2:]), as_array(told)
    if array.shape == before.shape and array.dtype.kind in "iuf":  # else it is refused as it stands
        array = np.where(seen, array, max(0.0, field.range[0]))
    try:
        known = checked("reward", array, inner, before.shape[:2])
    except ValueError as error:
        raise ValueError(f"{wrapper.name}.tell, by what its tells() declares: {error}") from None
    return np.where(seen, known, np.nan)
