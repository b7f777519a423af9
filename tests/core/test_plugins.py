"""Plug-ins are found late and imported on use; a built-in or registered name keeps its meaning."""

import sys

import pytest

from hushbandits.bench.spec import catalog
from hushbandits.core.utils import Registry, Spec


class Ours(dict):
    """A built-in class."""


@pytest.fixture
def table():
    return Registry("thing", "a dict", lambda cls: issubclass(cls, dict), {"Ours": Spec(Ours)}, "things")


@pytest.fixture
def brings(tmp_path, monkeypatch):
    """Install a package: entry points of one group, and its module, if it has one."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(package, group="things", source=None, **points):
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = "".join(f"{name} = {value}\n" for name, value in points.items())
        (info / "entry_points.txt").write_text(f"[hushbandits.{group}]\n{lines}")
        if source is not None:
            (tmp_path / f"{package}.py").write_text(source)

    yield install
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


def test_it_is_imported_when_it_is_named_and_not_before(table, brings):
    brings("far_off", source="class Far(dict): ...", Far="far_off:Far")
    assert table.find("Ours").load() is Ours
    assert sorted(table) == ["Far", "Ours"]
    assert table["Far"].source == "far_off 1.0"
    assert table["Far"].about() == ""
    assert "far_off" not in sys.modules
    assert table.find("Far").load().__name__ == "Far"
    assert "far_off" in sys.modules
    assert table.own() == {}  # a worker finds it itself
    with pytest.raises(ValueError, match=r"no thing is named 'far'; did you mean Far\?"):
        table.find("far")


@pytest.mark.parametrize(
    ("source", "why"),
    [("1/0", "ZeroDivisionError"), ("import nowhere_at_all", "No module named 'nowhere_at_all'"), ("", "no attribute")],
)
def test_one_that_cannot_be_imported_says_whose_it_is(table, brings, source, why):
    brings("far_off", source=source, Far="far_off:Far")
    with pytest.raises(ValueError, match=f"plug-in far_off 1.0: importing 'far_off:Far' raised .*{why}"):
        table.find("Far").load()
    assert table.find("Ours").load() is Ours


def test_a_name_that_is_taken_stays_whose_it_is(table, brings):
    """An installed package changes no built-in or registered name; of two packages the first by name counts."""
    for package in ("far_off", "far_out"):
        names = dict.fromkeys(("Ours", "Mine", "Far", package), f"{package}:Far")
        brings(package, source="class Far(dict): ...", **names)
    table.register("Mine", Spec(Ours))
    with pytest.warns(UserWarning, match="is left out") as warned:
        assert sorted(table) == ["Far", "Mine", "Ours", "far_off", "far_out"]
    assert len(warned) == 5
    assert {table.find(name).load() for name in ("Ours", "Mine")} == {Ours}
    assert table["Far"].source == "far_off 1.0"
    assert list(table.own()) == ["Mine"]


def test_an_env_that_no_registry_takes_is_shown(brings):
    def refuse(id):
        raise ValueError("it is misspelt")

    made = Registry("env", "a dict", lambda cls: issubclass(cls, dict), group="things", announce=refuse)
    brings("far_off", source="class Far(dict): ...", Far="far_off:Far")
    with pytest.warns(UserWarning, match="env 'Far' of far_off 1.0 is left out: it is misspelt"):
        assert list(made) == []


# -- experiments ---------------------------------------------------------------------------------------------------

SOURCE = """
from hushbandits import Experiment, Component
ENV, AGENTS = Component("CoopNetwork-v0"), [Component("UCB1")]
EXPERIMENTS = [Experiment(name=name, title="Far", env=ENV, agents=AGENTS) for name in {names}]
"""


@pytest.fixture
def afresh():
    for cached in (catalog.plugged, catalog._brought):
        cached.cache_clear()
    yield
    for cached in (catalog.plugged, catalog._brought):
        cached.cache_clear()


@pytest.mark.usefixtures("afresh")
def test_experiments_are_found_by_their_plug_ins_name(brings):
    brings("far_off", "experiments", source=SOURCE.format(names=["far-one", "far-two"]), far="far_off")
    assert len(catalog.find("quickstart")) == 3
    assert "far_off" not in sys.modules
    assert [e.name for e in catalog.find("far")] == ["far-one", "far-two"]
    assert [e.name for e in catalog.find("far-two")] == ["far-two"]
    assert (catalog.family("far-two"), catalog.family("fart")) == (0, 0)
    with pytest.raises(ValueError, match="no experiment is named 'far-twa'; did you mean far-two"):
        catalog.find("far-twa")


@pytest.mark.usefixtures("afresh")
@pytest.mark.parametrize(
    ("source", "why"),
    [
        (SOURCE.format(names=["other"]), "EXPERIMENTS of far_off must be Experiments with names far or far-"),
        ("EXPERIMENTS = [1]", "EXPERIMENTS of far_off must be Experiments"),
        ("1/0", "importing 'far_off' raised ZeroDivisionError"),
        ("", "importing 'far_off' raised AttributeError"),
    ],
)
def test_experiments_that_are_none_say_whose_they_are(brings, source, why):
    brings("far_off", "experiments", source=source, far="far_off")
    with pytest.raises(ValueError, match=f"plug-in far_off 1.0: {why}"):
        catalog.find("far")
    assert len(catalog.find("quickstart")) == 3


@pytest.mark.usefixtures("afresh")
def test_experiments_under_a_name_that_ships_are_left_out(brings):
    brings("far_off", "experiments", source=SOURCE.format(names=["rio2023-far"]), rio2023="far_off")
    with pytest.warns(UserWarning, match="'rio2023' of far_off 1.0 are ignored"):
        assert catalog.plugged() == {}
    assert "far_off" not in sys.modules
