"""Type checkers know the keywords of the built-in ids."""

import ast

import pytest

from benchmarks import typed

CALLS = """import hushbandits as hb
hb.make("CoopNetwork-v0", n_agents=4, wrappers=["Huber"], two_phase=True).reset(seed=0)
hb.make_vec("DistDP-v0", 3, epsilon=1.0, reward_source="oracle").reset(seed=[1, 2, 3])
hb.make("Mine-v0", anything=3).reset()
for id in hb.list_envs():
    hb.make(id, anything=3).reset()
hb.make("DPMASE-v0", n_agnets=4).reset(seed=0)
hb.make_vec("DistDP-v0", 3, horzion=10).reset()
"""


def test_the_stub_is_the_one_that_the_command_makes():
    assert ast.unparse(ast.parse(typed.text())) == ast.unparse(ast.parse(typed.FILE.read_text()))


@pytest.mark.weekly
def test_a_misspelt_keyword_is_an_error(tmp_path):
    mypy = pytest.importorskip("mypy.api")
    script = tmp_path / "user.py"
    script.write_text(CALLS)
    said, _, _ = mypy.run(["--config-file=", "--ignore-missing-imports", f"--cache-dir={tmp_path}", str(script)])
    assert [line.split(":")[1] for line in said.splitlines() if ": error:" in line] == ["7", "8"]
