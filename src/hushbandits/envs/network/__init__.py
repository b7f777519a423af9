"""Cooperation over a delayed graph."""
