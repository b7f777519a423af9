"""Plug-ins: found late, imported when they are named; a broken one is told, and one that clashes is refused."""

import sys

import pytest

from hushbandits.bench.declare import catalog
from hushbandits.core.ground.spec import Spec
from hushbandits.core.ground.table import Table
from hushbandits.plugins import plug


class Ours(dict):
    """What ships."""


@pytest.fixture
def table():
    made = Table("thing", dict, "a dict")
    made.ship({"Ours": Spec(Ours)})
    plug(made, "things")
    return made


@pytest.fixture
def brings(tmp_path, monkeypatch):
    """Install a package: what its entry points of one group say, and its module, if it has one."""
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
    assert list(table.brought) == []  # nobody has looked for it yet
    assert sorted(table) == ["Far", "Ours"]
    assert table.brought == {"Far": "far_off 1.0"}
    assert "far_off" not in sys.modules
    assert table["Far"].about() == ""
    assert "far_off" not in sys.modules
    assert table.find("Far").load().__name__ == "Far"
    assert "far_off" in sys.modules
    assert table.own() == {}  # a worker finds it by itself


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("far_off", "'far_off' must read module:Class"),
        ("far_off:", "must read module:Class"),
        ("far off:Far", "must read module:Class"),
        ("nowhere_at_all:Far", "there is no module 'nowhere_at_all'"),
    ],
)
def test_a_broken_one_is_told_and_stops_nothing(table, brings, value, why):
    brings("far_off", source="class Far(dict): ...", Broken=value, Far="far_off:Far")
    with pytest.warns(UserWarning, match=f"plug-in far_off 1.0: 'Broken' of hushbandits.things is left out: .*{why}"):
        assert sorted(table) == ["Far", "Ours"]
    with pytest.raises(ValueError, match="no thing is named 'Broken'"):
        table.find("Broken")


@pytest.mark.parametrize(
    ("source", "why"),
    [("1/0", "ZeroDivisionError"), ("import nowhere_at_all", "No module named 'nowhere_at_all'"), ("", "no attribute")],
)
def test_one_that_cannot_be_imported_says_whose_it_is(table, brings, source, why):
    brings("far_off", source=source, Far="far_off:Far")
    with pytest.raises(ValueError, match=f"plug-in far_off 1.0: importing 'far_off:Far' raised .*{why}"):
        table.find("Far").load()
    assert table.find("Ours").load() is Ours


def test_a_name_that_ships_stays_what_it_is(table, brings):
    brings("far_off", source="class Far(dict): ...", Ours="far_off:Far", Far="far_off:Far")
    with pytest.warns(UserWarning, match="thing 'Ours' of far_off 1.0 is left out: hushbandits has one of that name"):
        assert sorted(table) == ["Far", "Ours"]
    assert table.find("Ours").load() is Ours


def test_a_name_of_ones_own_stays_too(table, brings):
    brings("far_off", source="class Far(dict): ...", Mine="far_off:Far")
    table.register("Mine", Spec(Ours), {"__name__": "here"})
    with pytest.warns(UserWarning, match="thing 'Mine' of far_off 1.0 is left out: somebody here has one of that name"):
        assert sorted(table) == ["Mine", "Ours"]
    assert list(table.own()) == ["Mine"]


def test_a_name_that_two_bring_is_nobodys(table, brings):
    for package in ("far_off", "far_out", "far_away"):
        brings(package, source="class Far(dict): ...", Far=f"{package}:Far", **{package: f"{package}:Far"})
    both = "far_away 1.0 and far_off 1.0 and far_out 1.0"
    assert sorted(table) == ["Ours", "far_away", "far_off", "far_out"]
    with pytest.raises(ValueError, match=f"thing 'Far' is brought by {both}: uninstall one, or write module:Class"):
        table.find("Far")
    assert table.find("far_out:Far").load().__module__ == "far_out"


def test_what_lies_in_the_working_folder_is_not_installed(table, brings, tmp_path, monkeypatch):
    brings("far_off", source="class Far(dict): ...", Far="far_off:Far")
    monkeypatch.chdir(tmp_path)
    assert sorted(table) == ["Ours"]


def test_an_env_that_no_registry_takes_is_told(brings):
    made = Table("env", dict, "a dict")

    def refuse(id):
        raise ValueError("it is misspelt")

    plug(made, "things", refuse)
    brings("far_off", source="class Far(dict): ...", Far="far_off:Far")
    with pytest.warns(UserWarning, match="env 'Far' of far_off 1.0 is left out: it is misspelt"):
        assert list(made) == []


# -- experiments ---------------------------------------------------------------------------------------------------

SOURCE = """
from hushbandits import Experiment, Use
EXPERIMENTS = [Experiment(name=name, title="Far", env=Use("CoopNetwork-v0"), agents=[Use("UCB1")]) for name in {names}]
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
        (SOURCE.format(names=["other"]), "EXPERIMENTS of far_off must be Experiments whose names begin with far-"),
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
    with pytest.warns(UserWarning, match="'rio2023' of far_off 1.0 are left out: hushbandits has some of that name"):
        assert catalog.plugged() == {}
    assert "far_off" not in sys.modules
