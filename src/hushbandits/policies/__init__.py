"""Single-agent bandit algorithms in compiled code, which agents and baselines share."""
