"""Robust estimators of a mean, for one sample or for samples that grow in every round."""
