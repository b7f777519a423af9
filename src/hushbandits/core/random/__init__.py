"""Random numbers as a pure function of (key, name, run, step)."""
