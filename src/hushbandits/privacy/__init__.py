"""Samplers, accounting and audits of privacy mechanisms: pure functions that know no env."""
