"""Reference agents, one module per paper, and the base classes of agents."""
