"""The runner: it plays what is missing in a results folder."""
