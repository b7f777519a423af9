"""Statistics of runs, their intervals, and the verdicts on claims."""
