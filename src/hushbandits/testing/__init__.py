"""Checkers for user-defined parts, which play short runs and report each violated rule."""

from hushbandits.testing.env import Actor, check_env
from hushbandits.testing.parts import check_agent, check_policy, check_wrapper

__all__ = ["Actor", "check_agent", "check_env", "check_policy", "check_wrapper"]
