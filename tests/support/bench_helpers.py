"""What tests of the harness share: small experiments, a table's fingerprint, and one as TOML."""

from __future__ import annotations

import hashlib

from hushbandits.bench.declare.spec import Experiment, Use
from hushbandits.bench.run import run
from hushbandits.core.luck.rewards import UniformMeans


def small(**changes):
    fields = {
        "name": "small",
        "title": "Small",
        "env": Use("CoopNetwork-v0", horizon=60, means=UniformMeans(0.0, 1.0), n_arms=3),
        "agents": [Use("Multi-UCB"), Use("Private-UCB", epsilon=0.5), Use("UCB1")],
        "sweep": {"env.n_agents": (3, 4)},
        "runs": 7,
        "metrics": ("regret",),
    }
    return Experiment(**{**fields, **changes})


#: Of `known`.
RUNS = 40


def known(*claims, **changes):
    """Two lines along three sizes, whose rows a test makes up."""
    fields = {
        "name": "known",
        "title": "Known rows",
        "source": "Somebody 1999, figure 1",
        "env": Use("CoopNetwork-v0", horizon=100),
        "agents": [Use("Multi-UCB", label="A"), Use("UCB1", label="B")],
        "sweep": {"env.n_agents": (4, 8, 16)},
        "runs": RUNS,
        "claims": claims,
    }
    return Experiment(**{**fields, **changes})


def table(store):
    rows = "\n".join(map(repr, store.rows()))
    return hashlib.sha256(rows.encode()).hexdigest()


def played(experiment, folder, **kwargs):
    with run(experiment, folder, progress=False, **kwargs).store as store:
        return table(store)


TOML = """
title = "Sharing among four"
runs = 3
metrics = ["regret"]

[env]
use = "CoopNetwork-v0"
horizon = 20
n_arms = 3
means = { UniformMeans = { low = 0.25, high = 0.75 } }

[[agents]]
use = "Multi-UCB"

[[agents]]
use = "UCB1"
label = "alone"

[sweep]
"env.n_agents" = [3, 4]

[[figures]]
y = "regret"
log = ""
"""
