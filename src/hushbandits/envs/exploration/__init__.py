"""Private exploration: one agent acts at a time, and all tell a coordinator only which arms they give up on."""

from hushbandits.envs.exploration.env import Exploration

__all__ = ["Exploration"]
