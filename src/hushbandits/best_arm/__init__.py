"""Best-arm identification routines of one voting agent, such as elimination, racing and LUCB."""
