"""The adversary of (ε, η)-privacy at work: how often watching c agents' votes names a good arm."""

from __future__ import annotations

from collections.abc import Sequence

from hushbandits.bench.declare.world import seeds, world
from hushbandits.core.entries import AnyAgent, AnyEnv
from hushbandits.core.ground.types import Params
from hushbandits.core.luck.tapes import stream
from hushbandits.core.play import play
from hushbandits.envs.exploration.observer import watch
from hushbandits.registry import assemble, make_team

__all__ = ["observe"]


def observe(
    env_id: AnyEnv,
    agent: AnyAgent,
    watched: Sequence[int] = (1, 2, 4, 8),
    *,
    runs: int = 100,
    seed: int = 0,
    env: Params | None = None,
    agent_kwargs: Params | None = None,
) -> dict[int, tuple[float, float]]:
    """Play an exploration agent to its end, and let an observer who knows the algorithm name an arm.

    Parameters
    ----------
    env_id, agent : str or class
        As in `evaluate`; the agent must vote.
    watched : sequence of int
        Numbers c of agents that the observer watches.
    runs, seed : int
        Runs played: those of `evaluate` with the same env parameters (arms are permuted unless `env` says otherwise).
    env, agent_kwargs : mapping, optional
        Parameters of the env and the agent.

    Returns
    -------
    dict of c to (float, float)
        How often the named arm is within the env's precision of the best: for c random agents, and for the c that
        told most.

    Raises
    ------
    ValueError
        c is not in 1..N.

    Examples
    --------
    >>> mean, most = observe("DecentralizedExploration-v0", "Decentralized-UGapEc", (1,), runs=2)[1]
    >>> 0.2 < mean < most == 1.0
    True
    """
    team = make_team(agent, **(agent_kwargs or {}))
    params = env or {}
    core = assemble(env_id, team, runs=runs, env=params)
    for c in watched:
        if not 1 <= c <= core.n_agents:
            raise ValueError(f"watched={c} must be between 1 and n_agents={core.n_agents}")
    drawn = seeds(seed, world(env_id, params), 0, runs)
    play(core, team, drawn)
    found = {}
    for c in watched:
        mean, most = watch(core.book.counted, core.right, c, stream(drawn[0], f"observer/{c}"))
        found[c] = float(mean.mean()), float(most.mean())
    return found
