"""Views of the array core through other APIs: the only code with dicts of agents."""
