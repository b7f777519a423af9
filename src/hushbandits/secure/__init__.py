"""Cryptographic protocols for modular sums: parties that exchange bytes, and know no env (extra `secagg`)."""
