"""The array core in the forms of other libraries: the only code with dicts of agents."""
