"""The makers, as `hushbandits` offers them; ``typed.pyi`` has their signatures for type checkers, by setting."""

from hushbandits.adapters.make import make, make_aec, make_sb3, make_torchrl, make_vec, wrap

__all__ = ["make", "make_aec", "make_sb3", "make_torchrl", "make_vec", "wrap"]
