"""A plug-in of hushbandits: an env with tides, and agents, policies and wrappers for it."""
