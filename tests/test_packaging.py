"""Installed files: sdist and wheel contain each file once, and work where links do not."""

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

REPO = Path(__file__).parents[1]
TEMPLATES = REPO / "src/hushbandits/bench/report/templates"
LINKS = ("envs", "agents", "wrappers", "baselines")
BESIDE = ("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "SECURITY.md")


def run(*command, **kwargs):
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, **kwargs)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    tree = tmp_path_factory.mktemp("tree")
    for name in ("src", "tests", *LINKS, "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", *BESIDE):
        source = REPO / name
        if source.is_dir() and not source.is_symlink():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy2(source, tree / name, follow_symlinks=False)
    run("-m", "build", "--no-isolation", "--sdist", "--outdir", str(tree / "dist"), str(tree))
    return next((tree / "dist").glob("*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    out = folder / "wheel"
    run("-m", "build", "--no-isolation", "--wheel", "--outdir", str(out), str(next(folder.glob("hushbandits-*"))))
    return next(out.glob("*.whl"))


def package_files():
    root = REPO / "src"
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*.py"))


def test_links_at_the_root_lead_to_the_package():
    for link in LINKS:
        assert (REPO / link).is_symlink()
        assert (REPO / link).resolve() == (REPO / "src" / "hushbandits" / link).resolve()


def test_sdist_holds_each_file_once_and_no_links(sdist):
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert not [m.name for m in members if m.issym() or m.islnk()]
    held = [m.name.partition("/src/")[2] for m in members if m.name.endswith(".py") and "/src/" in m.name]
    assert sorted(held) == package_files()
    assert not [m.name for m in members if m.name.count("/") == 1 and m.name.split("/")[1] in LINKS]
    top = {m.name.split("/")[1] for m in members if "/" in m.name}
    assert {*BESIDE, "LICENSE", "README.md"} < top
    rooms = {m.name.partition("/tests/")[2] for m in members if "/tests/" in m.name}
    assert {"test_packaging.py", "core/test_golden.py", "bench/cell_keys.json"} < rooms


def test_the_conda_recipe_needs_what_the_package_needs():
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf8"))["project"]
    wanted = {*project["dependencies"], *project["optional-dependencies"]["bench"]}
    recipe = (REPO / "conda/meta.yaml").read_text(encoding="utf8")
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    needs = {line.strip(" -").replace(" ", "").replace("matplotlib-base", "matplotlib") for line in run.splitlines()}
    assert needs == wanted | {"python>={{python_min}}"}
    assert f'version = "{project["version"]}"' in recipe


def test_wheel_from_the_sdist_holds_each_file_once(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    held = [n for n in names if n.endswith(".py")]
    assert sorted(held) == package_files()
    assert "hushbandits/py.typed" in names
    page = {f"hushbandits/bench/report/templates/{path.name}" for path in TEMPLATES.iterdir()}
    assert {n for n in names if "/report/templates/" in n} == page
    frozen = {f"hushbench/hushbench-v2/{name}" for name in ("anchors.json", "tasks.toml")}
    beside = {"hushbench/templates/leaderboard.html", "hushbench/py.typed"}
    assert {n for n in names if n.startswith("hushbench/") and not n.endswith(".py")} == frozen | beside


def test_every_subpackage_imports_from_the_wheel(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    names = [f.removesuffix("/__init__.py").replace("/", ".") for f in package_files() if f.endswith("/__init__.py")]
    code = f"""
import importlib, sys
sys.path.insert(0, {str(tmp_path)!r})
for name in {names!r}:
    module = importlib.import_module(name)
    assert module.__file__.startswith({str(tmp_path)!r}), module.__file__
"""
    run("-c", code, cwd=tmp_path)


@pytest.mark.weekly
def test_an_edited_rule_is_compiled_anew(tmp_path):
    """Also for a compiled function in another file that calls it; other edits compile nothing."""
    package = tmp_path / "hushbandits"
    shutil.copytree(REPO / "src" / "hushbandits", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "policies" / "probe_rule.py").write_text(
        "from hushbandits.core.utils.jit import jit\n\n\n@jit\ndef rule(x):\n    return x + 1.0\n"
    )
    (package / "policies" / "probe_caller.py").write_text(
        "from hushbandits.core.utils.jit import jit\nfrom hushbandits.policies.probe_rule import rule\n\n\n"
        "def _make(f):\n    @jit\n    def closed(x):\n        return 10.0 * f(x)\n\n    return closed\n\n\n"
        "@jit\ndef call(x):\n    return 10.0 * rule(x)\n\n\nclosed = _make(rule)\n"
    )
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from hushbandits.policies import probe_caller as p
print(p.__file__.startswith({str(tmp_path)!r}), p.call(1.0), p.closed(1.0))
print(sum(p.closed.compiled.stats.cache_hits.values()))
"""
    assert run("-c", code, cwd=tmp_path).split() == ["True", "20.0", "20.0", "0"]
    assert run("-c", code, cwd=tmp_path).split() == ["True", "20.0", "20.0", "1"]
    (package / "cli" / "console.py").write_text("")
    assert run("-c", code, cwd=tmp_path).split() == ["True", "20.0", "20.0", "1"]
    rule = package / "policies" / "probe_rule.py"
    rule.write_text(rule.read_text().replace("x + 1.0", "x + 2.0"))
    assert run("-c", code, cwd=tmp_path).split() == ["True", "30.0", "30.0", "0"]


def test_import_loads_nothing_heavy():
    heavy = ("torch", "matplotlib", "pandas", "ray", "stable_baselines3", "tyro", "rich")
    later = ("numba", "networkx", "scipy.special", "scipy.stats", "scipy.optimize", "scipy.sparse")
    code = f"import sys, hushbandits; print([m for m in {heavy + later} if m in sys.modules])"
    assert run("-c", code).strip() == "[]"
