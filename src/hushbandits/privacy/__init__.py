"""Samplers and accounting of privacy mechanisms: pure functions that know no env."""
