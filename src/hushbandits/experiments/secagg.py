"""Cost of secure aggregation in bytes, with all agents as neighbours and on a graph."""

from hushbandits.bench.spec.experiment import Component, Experiment, Figure
from hushbandits.core import Params

_READING = (
    "Every agent adds up what all others report, by the protocol, with one in twenty of them dropping out before its "
    "masked vector. With everybody as a neighbour a user's bytes grow with the number of users; with eight they stay. "
    "Signatures against a lying server cost one more round, and bytes for every neighbour."
)


#: Shared parameters of all lines.
_SAME: Params = {"protocol": "bonawitz", "dropouts": {"masked": 0.05}}

EXPERIMENTS = (
    Experiment(
        name="secagg-cost",
        title="Secure aggregation: what does a sum cost a user?",
        source="own addition, after Bonawitz et al. 2017 and Bell et al. 2020",
        env=Component("CoopNetwork-v0", graph="complete", horizon=2, permute_arms=True),
        agents=[Component("Multi-UCB")],
        wrappers={
            "everybody a neighbour": [Component("SecAgg", **_SAME)],
            "8 neighbours": [Component("SecAgg", **_SAME, neighbours=8, threshold=5)],
            "signed": [Component("SecAgg", **_SAME, malicious=True)],
        },
        sweep={"env.n_agents": (12, 16, 24, 32)},
        runs=3,
        metrics=("secagg_bytes_up", "secagg_bytes_down", "secagg_rounds", "secagg_aborts", "secagg_dropped_masked"),
        figures=(Figure(y="secagg_bytes_up", x="env.n_agents", log="xy", reading=_READING),),
        quick={"runs": 2, "env.n_agents": (8, 12)},
    ),
)
