"""What the hosted checks run, one by one: ``nox`` (all of the default), ``nox -s tests-3.12``, ``nox -s weekly``."""

from pathlib import Path

import nox

nox.options.sessions = ["lint", "tests"]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


@nox.session
def lint(session):
    """Style, format, types, the layers of imports and the form of docstrings."""
    session.install(".[lint]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")
    session.run("numpydoc", "lint", *map(str, Path("src").rglob("*.py")))


@nox.session
def docs(session):
    """The site, into ``site/``; a warning is an error."""
    session.install(".[docs]")
    session.run("python", "-m", "sphinx", "-W", "docs", "site", *session.posargs)


@nox.session(python=PYTHONS)
def tests(session):
    """The default suite, on all cores; what is given after ``--`` goes to pytest instead."""
    session.install(".[test]")
    session.run("pytest", *(session.posargs or ["-n", "auto", "--dist", "worksteal"]))


@nox.session
def core(session):
    """The contract, its settings and its wrappers, for systems that the whole suite is not hosted on."""
    session.install(".[test]")
    rooms = ("core", "envs", "policies", "best_arm", "privacy", "wrappers", "adapters")
    session.run("pytest", "-n", "auto", *(f"tests/{room}" for room in rooms), *session.posargs)


@nox.session
def image(session):
    """The Docker image, which plays the quickstart."""
    session.run("docker", "build", "-f", "docker/Dockerfile", "-t", "hushbandits", ".", external=True)
    session.run("docker", "run", "--rm", "hushbandits", external=True)


#: Of the rooms below: what needs PyTorch, and what fails by two faults of Gymnasium's, mended in 1.2.3 and 1.4.
NOT_LOWEST = [
    "--ignore=tests/cli/test_train.py",
    *(f"--ignore=tests/adapters/test_{name}.py" for name in ("own_options", "sb3", "torchrl")),
    "--deselect=tests/adapters/test_vector_made.py::test_gymnasiums_wrappers_stand_over_it",
    "--deselect=tests/adapters/test_views_spaces.py::test_an_action_outside_its_space_changes_nothing",
    "--deselect=tests/core/test_use.py::test_a_learners_bad_action_names_the_agent_and_its_space",
]


@nox.session(python=PYTHONS[0])
def lowest(session):
    """Core, views and commands with the lowest release of everything that the project depends on."""
    project = nox.project.load_toml("pyproject.toml")["project"]
    needs = [*project["dependencies"], *project["optional-dependencies"]["bench"]]
    pins = Path(session.create_tmp()) / "lowest.txt"
    pins.write_text("\n".join(need.replace(">=", "==") for need in needs))
    session.install(".[bench]", "-c", str(pins), "cryptography", "hypothesis", "pytest", "pytest-xdist")
    # Old releases warn of the new ones beside them.
    rooms = ("tests/core", "tests/adapters", "tests/cli")
    session.run("pytest", "-W", "default", "-n", "auto", *rooms, *NOT_LOWEST, *session.posargs)


@nox.session
def weekly(session):
    """Everything: the default suite and what is long."""
    session.install(".[test]")
    session.run("pytest", "-n", "auto", "--dist", "worksteal", "-m", "", *session.posargs)


@nox.session
def coverage(session):
    """Lines and branches that the default suite reaches in one process and the commands that it starts."""
    session.install(".[test]", "coverage>=7.10")
    session.run("coverage", "erase")
    session.run("coverage", "run", "-m", "pytest", "-p", "no:xdist", *session.posargs)
    session.run("coverage", "combine", "-q")
    session.run("coverage", "report", "--skip-covered")


#: Library → what its scripts under examples/ need beside this package; docs/compatibility.md says what was found.
COMPAT = {
    "agilerl": ["agilerl>=2.58", "peft"],
    "benchmarl": ["benchmarl>=1.5.2"],
    "jax": ["jax"],
    "rllib": ["ray[rllib]>=2.60"],
    "sb3": ["stable-baselines3>=2.6"],
    "skrl": ["skrl>=2.1.1"],
    "supersuit": ["supersuit>=3.11", "stable-baselines3>=2.6"],
    "tianshou": ["tianshou>=2.0.1"],
    "torchrl": ["torchrl>=0.10.1"],
}


def compat(library):
    """One library in an environment of its own: its script trains an env of each setting, and its recipe runs."""

    def session(session):
        session.install(".[bench]", "torch==2.13.0", *COMPAT[library])
        for script in sorted(Path("examples").rglob(f"{library}_*.py")):
            session.run("python", str(script), *session.posargs)

    session.__doc__ = f"Envs, trained shortly with {library}."
    nox.session(session, name=f"compat-{library}")


for library in COMPAT:
    compat(library)


@nox.session
def resolve(session):
    """Whether every client's environment can be resolved on the oldest and the newest Python; names what breaks."""
    session.install("uv")
    broken = []
    for library, needs in COMPAT.items():
        asked = Path(session.create_tmp()) / f"{library}.in"
        asked.write_text("\n".join(needs))
        for python in (PYTHONS[0], PYTHONS[-1]):
            how = ("--quiet", "--no-header", "--no-annotate", "--extra", "bench", "--python-version", python)
            try:
                session.run("uv", "pip", "compile", *how, "pyproject.toml", str(asked))
            except nox.command.CommandFailed:  # uv has said which requirements contradict each other
                broken.append(f"{library} on Python {python}")
    if broken:
        session.error(f"cannot be resolved: {', '.join(broken)}")
