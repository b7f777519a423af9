"""The house and its tests: imports point down only, no circle; every public example runs; nothing heavy at import."""

import ast
import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

import hushbandits

ROOT = Path(hushbandits.__file__).parent
TESTS = Path(__file__).parent
FLOORS = [
    {"interrupt"},
    {"core.ground"},
    {"core.luck"},
    {"core"},
    {"privacy", "secure"},
    {"estimators"},
    {"policies"},
    {"routines"},
    {"envs"},
    {"wrappers", "agents"},
    {"baselines"},
    {"shipped", "announce", "plugins"},
    {"registry"},
    {"protection"},
    {"views", "audits", "testing", "bench.declare"},
    {"bench.play"},
    {"bench.judge", "learning", "contract"},
    {"bench.show"},
    {"bench", "experiments"},
    {"cli"},
]
LEVEL = {room: i for i, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(m.name for m in pkgutil.walk_packages([str(ROOT)], "hushbandits."))


def room(module):
    """A room may have floors of its own: the harness is a ladder of folders, and the contract stands on two shelves."""
    parts = module.split(".")[1:]
    return ".".join(parts[:2]) if ".".join(parts[:2]) in LEVEL else parts[0]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hushbandits"):
            yield from [node.module] if node.module != "hushbandits" else [f"hushbandits.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("hushbandits."))


@pytest.mark.parametrize("path", sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py"), ids=str)
def test_imports_point_down(path):
    own = room(".".join(path.relative_to(ROOT.parent).with_suffix("").parts))
    for module in imported(path):
        other = room(module)
        assert other in LEVEL, f"{path.name} imports {module}, which has no floor"
        assert LEVEL[other] < LEVEL[own] or other == own, f"{own}/{path.name} imports upwards or sideways: {module}"


def arrows(name):
    """What a module imports, at its head, late or for its types alone, file by file."""
    path = ROOT.joinpath(*name.split(".")[1:])
    tree = ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hushbandits"):
            full = [f"{node.module}.{a.name}" for a in node.names]
            yield from (m if m in MODULES else node.module for m in full)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name in MODULES)


def test_imports_run_in_no_circle():
    """Late imports and those for types count as well: a file can be understood before those that stand on it."""
    graph = nx.DiGraph((name, other) for name in MODULES for other in arrows(name))
    assert graph.number_of_edges() > 100
    assert nx.is_directed_acyclic_graph(graph), nx.find_cycle(graph)


def test_the_harness_names_no_experiment_that_ships():
    """Not even in a text: where they stand is told by `shipped`, and what they are by their own declarations."""
    for path in (ROOT / "bench").rglob("*.py"):
        assert "hushbandits.experiments" not in path.read_text(), path


def test_core_knows_no_setting():
    """No module of it is named after what one setting has, and nothing asks which setting an env is."""
    named = {"vote", "votes", "ballot", "slots", "flood", "cohort", "crowd", "pool", "window", "graph"}
    assert not {p.stem for p in (ROOT / "core").rglob("*.py")} & named
    shared = [
        *(p for d in ("core", "wrappers", "views") for p in (ROOT / d).rglob("*.py")),
        *(ROOT / "testing").glob("*.py"),
    ]
    for path in shared:
        for node in ast.walk(ast.parse(path.read_text())):
            asked = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            asked += [node.slice] if isinstance(node, ast.Subscript) else []
            settings = [x for x in asked if isinstance(x, ast.Attribute) and x.attr == "setting"]
            meeting = path.name == "play.py" and len(settings) == 2  # a team meets an env
            assert not settings or meeting, f"{path.name}:{node.lineno} asks which setting this is"


@pytest.mark.parametrize("name", [m for m in MODULES if not m.endswith("__main__")])
def test_every_example_in_a_docstring_runs(name):
    module = importlib.import_module(name)
    failed = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS).failed
    assert failed == 0


def test_package_docstring_runs():
    assert doctest.testmod(hushbandits).failed == 0


def test_import_loads_nothing_heavy():
    heavy = ("torch", "matplotlib", "pandas", "ray", "stable_baselines3", "tyro", "rich")
    later = ("numba", "networkx", "scipy.special", "scipy.stats", "scipy.optimize", "scipy.sparse")
    code = f"import sys, hushbandits; print([m for m in {heavy + later} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_no_file_of_tests_imports_another():
    """What several need stands in tests/support, what is compared with in tests/oracles; these stand on no test."""
    paths = sorted(TESTS.rglob("*.py"))
    tests = {p.stem for p in paths if p.parent.name not in ("support", "oracles")} | {"tests"}
    assert len(tests) > 60
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {part for name in names for part in name.split(".")} & tests, f"{path}:{node.lineno}"


def test_the_rooms_of_the_tests_are_those_of_the_package():
    """At the root stands what tests a file of the package's root, or the repository; what all rooms owe has its own."""
    rooms = {p.name for p in ROOT.iterdir() if p.is_dir()} | {"contract"}
    assert {p.parent.name for p in TESTS.glob("*/test_*.py")} <= rooms
    roots = {p.stem for p in ROOT.glob("*.py")} | {
        "house",
        "docs",
        "readme",
        "packaging",
        "support",
        "checks",
        "prose",
        "docstrings",
    }
    assert {p.stem.removeprefix("test_") for p in TESTS.glob("test_*.py")} <= roots
    names = [p.name for p in TESTS.rglob("*.py")]
    assert len(names) == len(set(names))  # pytest imports them by name alone
