"""The runner, which plays the missing runs of a results folder."""
