"""Submissions of built-in agents, played when a test first uses them."""

import pytest

from hushbandits.cli.main import main

#: Arguments of `hushbandits bench`, by the name that tests use.
ASKED = {
    "Commit-Blocks": ("--agents", "Commit-Blocks", "--tasks", "feedback"),
    "FedLinUCB": ("--agents", "FedLinUCB", "--tasks", "linear"),
    "Gap-Vote": ("--agents", "Gap-Vote", "--tasks", "exploration"),
    "MaskablePPO-DPMASE": ("--agents", "MaskablePPO-DPMASE", "--tasks", "exploration"),
    "Decentralized-SER3": ("--agents", "Decentralized-SER3", "--tasks", "exploration"),
    "DP-MASE": ("--agents", "DP-MASE", "--tasks", "exploration"),
    "DP-MASE epsilon=1": ("--agents", "DP-MASE", "--tasks", "exploration", "--set", "agent.epsilon=1.0"),
}


@pytest.fixture(scope="session")
def hidden():
    """Return the arguments that give a beacon."""
    return "--beacon", "5a" * 32, "--beacon-source", "a test of 2026"


@pytest.fixture
def here(here, monkeypatch):
    """Return an empty working folder, from which modules are imported."""
    monkeypatch.syspath_prepend(here)
    return here


@pytest.fixture(scope="session")
def submitted(tmp_path_factory, hidden):
    """Return a function from a name to the file of its submission."""
    folder = tmp_path_factory.mktemp("submissions")

    def file(name):
        path = folder / f"{name}.json"
        if not path.exists():
            out = str(folder / "rows")
            assert main(["bench", *ASKED[name], "--jobs", "1", "--out", out, "--submit", str(path), *hidden]) == 0
        return path

    return file
