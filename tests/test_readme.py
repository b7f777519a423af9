"""The README's code runs, and its commands exist."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.S)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: b.strip().splitlines()[-1][:40])
def test_python_blocks_run(block, capsys):
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out.strip()


COMMANDS = [
    'pip install ".[bench]" && hushbandits run quickstart',
    'pip install ".[test]" && pytest -n auto --dist worksteal',
]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_stand_on_a_line_of_their_own(command):
    fenced = "".join(re.findall(r"```bash\n(.*?)```", README, re.S))
    assert command in fenced.splitlines()


def test_pictures_exist():
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", README):
        assert (Path(__file__).parents[1] / picture).stat().st_size > 10_000
