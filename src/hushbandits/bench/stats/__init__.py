"""Statistics of runs, their intervals, and the verdicts on claims; `hb.stats` is this package."""

from hushbandits.bench.stats.descriptive import (
    bootstrap,
    holm,
    iqm,
    iqm_interval,
    mean_interval,
    median_interval,
    permutation_test,
    profile,
    quantile_band,
    share_interval,
)

__all__ = [
    "bootstrap", "holm", "iqm", "iqm_interval", "mean_interval", "median_interval", "permutation_test", "profile",
    "quantile_band", "share_interval",
]  # fmt: skip
