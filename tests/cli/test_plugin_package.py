"""The package in examples/plugin builds, installs, and works like built-in parts; templates pass their tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hushbandits.cli.main import main

ROOT = Path(__file__).parents[2]
KINDS = ("env", "agent", "policy", "wrapper", "mechanism", "experiment")


def said(*command, folder, code=0, **env):
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env={**os.environ, **env}, capture_output=True, text=True
    )
    assert done.returncode == code, (command, done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


def hushbandits(*args, **given):
    return said("hushbandits", *args, **given)


CONTRACT = ("pytest", "-q", "-p", "hushbandits.testing.plugin", "--pyargs", "hushbandits.testing")


@pytest.mark.weekly
def test_an_installed_package_is_used_as_what_ships(tmp_path):
    source, home = tmp_path / "source", tmp_path / "site"
    shutil.copytree(ROOT / "examples/plugin", source)
    pip = ("pip", "install", "-q", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    said(*pip, "--target", str(home), str(source), folder=tmp_path)
    given = {"folder": tmp_path, "PYTHONPATH": os.pathsep.join([str(home), os.environ.get("PYTHONPATH", "")])}
    quiet = "import hushbandits, sys; hushbandits.list_agents(); assert 'Tidal-UCB' in hushbandits.list_agents(); "
    subprocess.run(
        [sys.executable, "-c", quiet + "assert 'tidal' not in sys.modules"],
        check=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": given["PYTHONPATH"]},
    )  # fmt: skip
    listed = hushbandits("list", **given)
    assert listed.count("of tidal-bandits 0.1") == 5
    assert "Tides-v0 (env, of tidal-bandits 0.1)" in hushbandits("list", "Tides-v0", **given)
    hushbandits("run", "tidal-regret", "--quick", "--jobs", "2", **given)
    assert "12 of 12 runs" in hushbandits("check", "runs/tidal-regret-quick", **given)
    of = [word for name in ("Tides-v0", "Tidal-UCB", "Half-Greedy", "Coins") for word in ("--of", name)]
    assert "passed" in said(*CONTRACT, *of, **given)


@pytest.mark.weekly
def test_the_contract_fails_what_breaks_it(tmp_path):
    (tmp_path / "bad.py").write_text(
        "import numpy as np\n\n\nclass Stuck:\n    blind = True\n\n    def __init__(self, m, rng): ...\n\n"
        "    def act(self, t):\n        return int(np.random.default_rng().integers(2))\n"
    )
    out = said(*CONTRACT, "--of", "bad:Stuck", "--where", "CoopNetwork-v0", folder=tmp_path, code=1)
    assert "Stuck: the same seed, after numpy.random.seed(1)" in out
    assert "no agent is named 'Stack'" in said(*CONTRACT, "--of", "Stack", folder=tmp_path, code=2)


@pytest.mark.parametrize(("kinds", "tests"), [(["agent"], 2), pytest.param(KINDS, 11, marks=pytest.mark.weekly)])
def test_templates_pass_their_own_tests_and_are_not_written_over(kinds, tests, here, capsys):
    for kind in kinds:
        assert main(["new", kind, f"my-{kind}"]) == 0
        assert f"test_my_{kind}.py" in capsys.readouterr().out
    assert f"{tests} passed" in said("pytest", "-q", "-W", "error", "-p", "no:cacheprovider", folder=here)
    assert main(["new", "agent", "MyAgent"]) == 2
    assert "my_agent.py exists already" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["planet", ""])
def test_what_is_no_kind_is_shown(kind, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["new", kind, "Mine"])
    assert stop.value.code == 2
    assert all(known in capsys.readouterr().err for known in KINDS[:1])
