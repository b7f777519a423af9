"""Reference agents, one file per paper."""
