"""Games as hand-written loops over scalars, for one run and one agent's algorithm and nothing else."""
