"""Single-agent bandit rules, compiled scalars that agents and baselines share."""
