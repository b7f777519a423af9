"""Wrappers that change messages in transit, in one file each."""
