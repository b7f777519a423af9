"""Checkers of user-defined envs, agents, policies and wrappers, which raise an error if a rule is violated."""

from hushbandits.testing.env import Actor, check_env
from hushbandits.testing.parts import check_agent, check_policy, check_wrapper

__all__ = ["Actor", "check_agent", "check_env", "check_policy", "check_wrapper"]
