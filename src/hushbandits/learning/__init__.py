"""Training of policies, as used by ``hushbandits train``."""
