"""The rollout loop: a team plays all runs of an env."""

import copy
import math
from collections.abc import Callable, Sequence

from hushbandits.core.env import Env
from hushbandits.core.messages import Observation
from hushbandits.core.random.names import agent
from hushbandits.core.random.streams import Streams
from hushbandits.core.team import EnvView, Team, check_compatible, revealed
from hushbandits.core.utils import Array, Seeds


def rollout(env: Env, team: Team, seed: int | Seeds = 0, step: Callable[[], None] | None = None) -> dict[str, Array]:
    """Play every run to its end; return the final metrics of env and team, each ``(R, …)``.

    Parameters
    ----------
    env, team : Env, Team
        They must fit (`check_compatible`).
    seed : int or (R, 3) uint64 array
        As in `Env.reset`.
    step : callable, optional
        Called after every round.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_batched("CoopNetwork-v0", runs=2, n_agents=4, horizon=20)
    >>> rollout(env, hb.make_team("Multi-UCB"))["regret"].shape
    (2,)
    """
    check_compatible(env, team)
    play(env, team, begin(env, team, seed), step, () if step is None else None)
    return measured(env, team, env.metrics())


def measured(env: Env, team: Team, finals: dict[str, Array]) -> dict[str, Array]:
    """Return `finals`, the final metrics of an env, together with the metrics of the team."""
    if type(team).metrics is not Team.metrics:
        with revealed(env) as its:
            finals = {**finals, **(team if team.ships("metrics") else copy.deepcopy(team)).metrics(its)}
    return finals


def begin(env: Env, team: Team, seed: int | Seeds) -> Observation:
    """Reset an env and a compatible team with `seed`, and return the first observation."""
    obs = env.reset(seed)
    team.reset(EnvView(env), Streams(env.seeds).below(agent(team.stream)))
    return obs


def play(
    env: Env, team: Team, obs: Observation, look: Callable[[], None] | None, stops: Sequence[float] | None
) -> None:
    """Play every run from the first observation `obs` to its end, and call `look` at times on the way.

    Parameters
    ----------
    env, team : Env, Team
        As `begin` leaves them.
    obs : Observation
        What `begin` returned.
    look : callable, optional
    stops : sequence of float, optional
        Times, in ascending order, at which `look` is called at least; ``None``: after every round.
    """
    if stops is not None and team.episode(env, math.inf, stops, look):
        return
    while env._phase != "over":
        obs = env.pull(team.act(obs))
        obs = env.communicate(team.compose(obs.reward))  # type: ignore[arg-type]  # None if rewards are withheld
        assert obs.inbox is not None
        team.receive(obs.inbox)
        if look is not None:
            look()
