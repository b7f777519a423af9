"""Cryptographic protocols for modular sums and for mixing messages, independent of envs (extra `secagg`)."""
