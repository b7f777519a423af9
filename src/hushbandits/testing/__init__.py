"""Checkers for parts of one's own: whole episodes, and what a contract promises, in a sentence where it breaks."""

from hushbandits.testing.env import Policy, check_env

__all__ = ["Policy", "check_env"]
