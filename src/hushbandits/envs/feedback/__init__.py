"""Privatized feedback: rewards of blocks of users reach a server through a privacy protocol."""

from hushbandits.envs.feedback.env import Feedback

__all__ = ["Feedback"]
