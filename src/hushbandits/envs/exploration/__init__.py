"""Private exploration: one agent acts at a time and sends only votes against arms to a coordinator."""

from hushbandits.envs.exploration.env import Exploration

__all__ = ["Exploration"]
