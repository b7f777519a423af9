"""Arms with tides, and who plays them: a plug-in of hushbandits."""
