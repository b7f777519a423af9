"""Names of random streams; every random number depends on these strings, so they must never change."""

#: Of an env.
INSTANCE, REWARD, ACTIVATION, RECOMMENDATION = "instance", "reward", "activation", "recommendation"
GRAPH, EDGES, CLIENTS = "graph", "edges", "clients"
FEATURES, THETA, POOL = "features", "theta", "pool"
#: Of a wrapper, below its own key, ``"wrapper/…"``.
ORDER, RELAYS, SAMPLES, KEYS, DROPS, SHARES = "order", "relays", "samples", "keys", "drops", "shares"
#: Of an agent, below its own key (`agent`).
POLICY, DRAWS, NOISE = "policy", "draws", "noise"
#: The stream of every trained policy, whatever the agent is called.
TRAINED = "trained"


def wrapper(name: str) -> str:
    """Return the name of the random streams of the wrapper `name`."""
    return f"wrapper/{name}"


def agent(name: str) -> str:
    """Return the name of the random streams of the team `name`."""
    return f"agent/{name}"
