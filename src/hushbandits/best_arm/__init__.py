"""Routines by which one agent votes in exploration: elimination, racing and best-arm identification."""
