"""Training a policy: what ``hushbandits train`` does."""
