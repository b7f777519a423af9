"""Experiments declare: importing them plays nothing, and calls nothing of a theory, an env or an array."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from refusals import rows

from hushbandits import experiments
from hushbandits.agents import dubey2020_theory as theory
from hushbandits.bench.judge.procedures import PROCEDURES, rules
from hushbandits.bench.judge.summary import INTERVALS
from hushbandits.envs.network.graphs import adjacency, clique_cover, hop_distances, power_graph
from hushbandits.experiments import dubey2020

FILES = sorted(p for p in Path(experiments.__file__).parent.glob("*.py") if p.name != "__init__.py")
#: What declares, and parameters that are data; builtins and the module's own functions besides.
DECLARES = {
    "__future__", "collections.abc", "dataclasses", "functools", "itertools", "typing", "hushbandits.core.ground.types",
    "hushbandits.core.luck.rewards",
}  # fmt: skip


def computing(tree):
    """Names that are imported from anywhere else than from what declares."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module not in DECLARES:
            if not node.module.startswith("hushbandits.bench.declare"):
                names |= {a.asname or a.name for a in node.names}
        elif isinstance(node, ast.Import):
            names |= {(a.asname or a.name).partition(".")[0] for a in node.names} - {"itertools"}
    return names


def used(node):
    """Names that are used where `node` runs; annotations do not run."""
    annotations = set()
    for n in ast.walk(node):
        if isinstance(n, (ast.AnnAssign, ast.arg)) and n.annotation is not None:
            annotations |= {id(m) for m in ast.walk(n.annotation)}
        if isinstance(n, ast.FunctionDef) and n.returns is not None:
            annotations |= {id(m) for m in ast.walk(n.returns)}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and id(n) not in annotations}


def at_import(tree):
    """Names that are used when the module is imported: by its statements, and by functions that these name."""
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    names = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):  # its decorators and defaults
            names |= {name for part in (*node.decorator_list, *node.args.defaults) for name in used(part)}
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= used(node)
    called = set()
    while fresh := (names & functions.keys()) - called:
        called |= fresh
        names |= {name for function in fresh for name in used(functions[function])}
    return names


@rows("path", FILES)
def test_an_experiments_module_only_declares(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not at_import(tree) & computing(tree)
    for node in tree.body:  # a docstring, imports, functions, declarations
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        assert text or isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign, ast.AnnAssign))


def test_a_module_that_computes_would_be_seen():
    tree = ast.parse("import numpy as np\nfrom hushbandits.agents import x as theory\nA = 1\n"
                     "def f(n):\n    return g(n)\ndef g(n):\n    return theory.bound(n)\nB = f(3)\n")  # fmt: skip
    assert at_import(tree) & computing(tree) == {"theory"}


def test_importing_them_plays_nothing():
    code = (
        "import hushbandits.core.env as env\n"
        "def no(*a, **k): raise SystemExit('an env was built')\n"
        "env.Env.__init__ = no\n"
        "from hushbandits.bench.declare.catalog import modules\n"
        "assert len(modules()) > 4\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_bounds_that_are_claimed_are_the_theorems():
    gaps, distance = max(dubey2020.MEANS) - np.array(dubey2020.MEANS), hop_distances(adjacency("grid", 36))
    for life, most in dubey2020.MOST.items():
        size = 36, life, len(clique_cover(power_graph(distance, life)))
        found = [
            float(bound(gaps, np.array(1000.0), *size, use.params["epsilon"]))
            for use, bound in (
                (dubey2020.PRIVATE, theory.private_regret), (dubey2020.BYZANTINE, theory.byzantine_regret),
            )
        ]  # fmt: skip
        assert most == pytest.approx(found, rel=1e-12)


def test_the_rule_in_the_docs_is_the_one_that_is_followed():
    text = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")
    told = text.partition("<!-- rules: python -m benchmarks verdicts --rules -->\n")[2].partition("\n<!-- end -->")[0]
    assert told == rules()


def test_every_interval_has_its_coverage_in_the_docs():
    text = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")
    together, each = text.partition("## Intervals of tables and figures")[::2]
    for statistic, (name, _) in INTERVALS.items():
        assert f"\n| {name}: {statistic} | 10 | 95 |" in each
    for name in {p.name for p in PROCEDURES.values()} - {"band of the law", "Clopper–Pearson"}:  # free of the law
        assert f"\n| {name}: " in together
