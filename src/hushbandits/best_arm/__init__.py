"""Routines such as elimination, racing and LUCB, by which one voting agent identifies the best arm."""
