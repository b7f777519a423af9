"""Ids in other libraries' registries: PettingZoo's, where it has one, and Gymnasium's."""

from __future__ import annotations

import gymnasium
import pettingzoo

__all__ = ["announce", "announce_bandit"]


def announce(id: str) -> None:
    """Register ``hushbandits/<id>`` with PettingZoo (from 1.27 on) and as a vector env with Gymnasium.

    PettingZoo gets a parallel and a turn-based env.  ``ValueError``, and nothing is registered, where one of them has
    such an id or takes none.
    The entry points are names: views are imported when somebody makes one.
    """  # fmt: skip
    public = f"hushbandits/{id}"
    petting = hasattr(pettingzoo, "register")
    spelled = pettingzoo.EnvSpec(public).id if petting else public  # as PettingZoo spells it
    tables = [(gymnasium.registry, public, "Gymnasium")]
    if petting:
        tables += [(t, spelled, "PettingZoo") for t in (pettingzoo.parallel_registry, pettingzoo.aec_registry)]
    for table, name, whose in tables:
        if name in table:  # they themselves would only warn
            raise ValueError(f"an env {name!r} is registered with {whose} already; choose another name")
    try:
        gymnasium.register(
            public,
            "hushbandits.views.farama:one_agent",
            vector_entry_point="hushbandits.views.farama:of_gymnasium",
            kwargs={"env_id": id},  # `id` is a word of gymnasium.make's own
        )
    except gymnasium.error.Error as refused:  # it takes no name both with and without a version
        raise ValueError(f"id={id!r} cannot be registered with Gymnasium: {refused}") from None
    if petting:
        pettingzoo.register("parallel", spelled, "hushbandits.views.make:make", kwargs={"id": id})
        pettingzoo.register("aec", spelled, "hushbandits.views.make:make_aec", kwargs={"id": id})


def announce_bandit() -> None:
    """Register ``hushbandits/Bandit-v0``, which is for one agent alone."""
    gymnasium.register(
        "hushbandits/Bandit-v0",
        "hushbandits.views.bandit:BanditEnv",
        vector_entry_point="hushbandits.views.bandit:make_bandits",
    )
