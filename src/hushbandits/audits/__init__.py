"""Checks of ``hushbandits audit``, which test privacy guarantees by exact laws, drawn noise and black-box runs."""
