"""Checks that are made before a run: whether votes can decide the run, and whether the run ends."""

import warnings
from collections.abc import Sequence

import numpy as np

from hushbandits.core import Team, World, Wrapper
from hushbandits.envs.exploration.voting import VotingTeam

_HORIZON = "give the env a horizon, such as horizon=100_000"


def check_loss(xi: float, wrappers: Sequence[Wrapper]) -> None:
    """Raise ``ValueError`` unless `xi` is 0 or the rate at which the `wrappers` lose votes.

    Examples
    --------
    >>> check_loss(0.05, ())
    Traceback (most recent call last):
        ...
    ValueError: xi=0.05 must equal the share of votes that the env's wrappers lose, 0; ...
    """
    kept = _kept(wrappers)
    if xi > 0 and abs(1 - kept - xi) > 1e-9:
        raise ValueError(
            f"xi={xi:g} must equal the share of votes that the env's wrappers lose, {1 - kept:.6g}; "
            f"use VoteCorruption(xi={xi:g}) as the only wrapper that loses votes, or omit xi"
        )


def _kept(wrappers: Sequence[Wrapper]) -> float:
    """Return the probability that a vote passes through all wrappers."""
    return float(np.prod([1 - w.drop_prob for w in wrappers if w.drop_prob is not None]))


def check_end(env: World) -> None:
    """Raise ``ValueError`` if termination, horizon and moving arms are incompatible, or if a run may never end."""
    if env.horizon is None and env.termination == "horizon":
        raise ValueError("termination='horizon' needs a horizon, such as horizon=100_000")
    if env.allow_vote_resets and env.termination != "horizon":
        raise ValueError(f"allow_vote_resets=True needs termination='horizon', not {env.termination!r}")
    if env.arms.moving and (env.inactive_agents == "drop" or not env.law.unit_interval):
        raise ValueError("drift= and n_change_points= need inactive_agents='keep' and rewards in [0, 1]")
    everyone, voters = env.termination_by == "everyone", np.count_nonzero(env.weights)
    mute = everyone or env.votes_needed > voters
    if env.horizon is None and env.termination == "coordinator" and env.inactive_agents == "keep" and mute:
        why = "termination_by='everyone'" if everyone else f"{env.votes_needed} votes needed, {voters} agents act"
        raise ValueError(f"no vote removes an arm ({why}) and no agent leaves (inactive_agents='keep'): {_HORIZON}")


def admit(env: World, team: Team) -> None:
    """Raise ``ValueError`` if the team's runs cannot be decided or may never end; warn if votes have no effect."""
    voters = np.count_nonzero(env.weights)  # agents that act
    short = env.termination_by == "coordinator" and env.votes_needed > voters
    if not isinstance(team, VotingTeam):
        counts = env.termination_by == "coordinator" and not short and _kept(env.wrappers) > 0
        if env.horizon is None and not (team.decides_runs and counts):
            raise ValueError(f"{team.name} may never end, because this env has no horizon: {_HORIZON}")
        return
    if short:
        sentence = f"{team.name} needs {env.votes_needed} votes to remove an arm, but only {voters} agents act"
        if env.termination == "coordinator":
            raise ValueError(f"{sentence}: no run can be decided; take more agents, or a lower threshold")
        warnings.warn(f"{sentence}: each agent then learns only from its own samples", stacklevel=3)
    if env.horizon is not None:
        return
    certain = env.votes_needed == 1 and not env.wrappers
    leave = env.inactive_agents == "drop" and not team.plays_on
    settle = env.termination == "players" and not team.shared
    if not (certain or leave or settle):
        raise ValueError(
            f"{team.name} may never end with termination={env.termination!r}, "
            f"inactive_agents={env.inactive_agents!r}, {env.votes_needed} votes needed "
            f"and {len(env.wrappers)} wrappers: {_HORIZON}"
        )
    if not team.plays_on and env.arms.given is not None:
        second, best = np.sort(env.law.mean(env.arms.given))[-2:]
        if second == best:
            raise ValueError(f"{team.name} may never end, because two arms have the best mean: {_HORIZON}")
