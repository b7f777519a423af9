"""Declare: experiments, claims and figures as data."""
