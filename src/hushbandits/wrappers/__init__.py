"""Wrappers that change messages in transit, and their base classes."""
