"""A command imports only what it names: no other paper's experiments, no unused agents and envs."""

from __future__ import annotations

import subprocess
import sys

from bench_helpers import TOML

COMMAND = """
import sys
from hushbandits.cli.main import main
code = main(sys.argv[1:])
print(*(n for n, m in sys.modules.items() if n.startswith("hushbandits.") and getattr(m, "__file__", None)))
sys.exit(code)
"""


def test_four_cells_read_no_paper_and_nothing_of_other_settings(tmp_path):
    spec = tmp_path / "four.toml"
    spec.write_text(TOML)
    command = [sys.executable, "-c", COMMAND, "run", str(spec), "--jobs", "1", "--out", str(tmp_path / "out")]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = shown.splitlines()[-1].split()
    assert "hushbandits.envs.network.env" in names
    others = (
        "experiments.",
        "agents.rio2023",
        "agents.howson2024",
        "envs.exploration",
        "envs.feedback",
        "envs.network.lossy_transport",
        "baselines.sb3",
    )
    others += ("audits", "learning", "testing", "adapters.make", "cli.audit")
    assert [n for n in names if n.startswith(tuple(f"hushbandits.{other}" for other in others))] == []
    assert len(names) <= 153


def test_the_package_alone_reads_its_core_and_its_tables():
    code = "import sys, hushbandits; print(*(n for n in sys.modules if n.startswith('hushbandits.')))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    rooms = ("bench", "cli", "testing", "envs", "agents", "adapters.make")
    assert [n for n in shown if n.startswith(tuple(f"hushbandits.{room}" for room in rooms))] == []
