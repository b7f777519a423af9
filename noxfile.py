"""What the hosted checks run, one by one: ``nox`` (all of the default), ``nox -s tests-3.12``, ``nox -s slow``."""

import nox

nox.options.sessions = ["lint", "tests"]
PYTHONS = ["3.11", "3.12", "3.13"]


@nox.session
def lint(session):
    """Style, format and types."""
    session.install(".[lint]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session(python=PYTHONS)
def tests(session):
    """The default suite, on all cores; what is given after ``--`` goes to pytest instead."""
    session.install(".[test]")
    session.run("pytest", *(session.posargs or ["-n", "auto", "--dist", "worksteal"]))


@nox.session
def slow(session):
    """The long statistical tests."""
    session.install(".[test]")
    session.run("pytest", "-m", "slow", *session.posargs)
