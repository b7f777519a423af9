"""Checkers for parts of one's own: what a contract promises is played, and said in a sentence where it breaks."""

from hushbandits.testing.env import Actor, check_env
from hushbandits.testing.parts import check_agent, check_policy, check_wrapper

__all__ = ["Actor", "check_agent", "check_env", "check_policy", "check_wrapper"]
