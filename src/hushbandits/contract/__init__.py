"""The contract as a test suite for one's own: ``pytest --pyargs hushbandits.contract --of my_module:MyAgent``."""
