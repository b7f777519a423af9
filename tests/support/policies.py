"""Small policies with little training, for tests that need one."""

import torch

from hushbandits.learning.train import train

NET = {"n_agents": 3, "horizon": 12, "n_arms": 3, "means": (0.9, 0.5, 0.1)}
VOTE = {"n_agents": 6, "horizon": 60, "means": (0.9, 0.5, 0.1), "beta": 0.3, "delta": 0.3}
BLOCKS = {"n_agents": 2, "horizon": 40, "means": (0.9, 0.5, 0.1)}
HOMES = {"network": ("CoopNetwork-v0", NET), "exploration": ("DPMASE-v0", VOTE), "feedback": ("DistDP-v0", BLOCKS)}
HYPER = {
    "ppo": {"n_steps": 4, "net_arch": [8, 8]},
    "a2c": {"n_steps": 4, "net_arch": [8]},
    "maskable-ppo": {"n_steps": 4, "net_arch": [8]},
    "es": {"population": 4},
}
#: Short enough for a test.
SHORT = {"steps": 48, "evaluations": 2, "held_out": 2, "runs": 2}


class Stopped(Exception):
    """A substitute for anything that ends a process."""


def trained(folder, algo="ppo", case="network", env=None, **given):
    """Save a policy in a folder, and return the folder."""
    id, params = HOMES[case]
    given = {**SHORT, "hyper": HYPER[algo], "env": {**params, **(env or {})}, **given}
    train(id, folder, algo=algo, **given)
    return folder


def shaken(model, seed=0):
    """Give a model weights and biases of relevant size."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in model.policy.parameters():
            p += torch.randn(p.shape, generator=generator) * 0.5
    return model


def contents(folder):
    """Return the files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}
