"""The runner: plays the missing runs of a results folder."""
