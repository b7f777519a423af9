"""The harness: experiments, runs, rows, statistics, plots, report."""
