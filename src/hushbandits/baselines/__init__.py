"""The baselines that the papers compare with."""
