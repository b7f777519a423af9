"""Private exploration: one agent acts at a time and sends a coordinator only votes against arms."""

from hushbandits.envs.exploration.env import Exploration

__all__ = ["Exploration"]
