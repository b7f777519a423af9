"""The contract as a test suite for one's own.

``pytest -p hushbandits.contract.plugin --pyargs hushbandits.contract --of my_module:MyAgent``
"""
