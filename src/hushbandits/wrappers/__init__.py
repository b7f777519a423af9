"""Wrappers act on messages on their way, one file each."""
