"""Checks behind `hushbandits audit`: every privacy guarantee is compared with laws, draws and runs."""
