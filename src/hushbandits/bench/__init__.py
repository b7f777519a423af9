"""The benchmark harness: experiments, runs, rows of results, statistics, plots and report pages."""
