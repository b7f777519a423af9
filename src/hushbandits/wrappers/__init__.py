"""Wrappers that change messages in transit, one file each."""
