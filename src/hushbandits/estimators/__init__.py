"""Robust estimators of a mean: pure functions of a sample, and structures that follow growing samples."""
