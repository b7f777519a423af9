"""Names of random streams; these strings decide all random numbers and must never change."""

#: Of an env.
INSTANCE, REWARD, ACTIVATION, RECOMMENDATION = "instance", "reward", "activation", "recommendation"
GRAPH, EDGES, CLIENTS = "graph", "edges", "clients"
#: Of a wrapper, below its own key (`wrapper`).
ORDER, RELAYS, SAMPLES, KEYS, DROPS, SHARES = "order", "relays", "samples", "keys", "drops", "shares"
#: Of an agent, below its own key (`agent`).
POLICY, DRAWS, NOISE = "policy", "draws", "noise"
#: The stream of every trained policy, whatever the agent is called.
TRAINED = "trained"


def wrapper(name: str) -> str:
    """Return the name of a wrapper's streams."""
    return f"wrapper/{name}"


def agent(name: str) -> str:
    """Return the name of a team's streams."""
    return f"agent/{name}"
