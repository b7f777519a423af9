"""Adapters of the array core to other libraries, the only code with dicts by agent."""
