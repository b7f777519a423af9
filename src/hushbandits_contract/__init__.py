"""Nothing: the options of the contract suite stand in `hushbandits.contract.plugin`."""
