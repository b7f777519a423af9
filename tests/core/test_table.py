"""One registry for all names: lookup, refusal, repeated registration, transfer to workers."""

import subprocess
import sys

import pytest
from refusals import rows

import hushbandits as hb
from hushbandits.core.utils import Registry, Spec, parameters
from hushbandits.policies.registry import POLICIES
from hushbandits.registry import AGENTS, ENVS, WRAPPERS


class Base:
    def __init__(self, size=1):
        self.size = size


class Plain(Base):
    pass


@pytest.fixture
def table():
    return Registry("thing", "a Base class", lambda cls: issubclass(cls, Base), {"Ours": Spec(Plain)})


def again():
    """Return a class that was defined again under the name of `Plain`."""
    return type("Plain", (Base,), {"__module__": Plain.__module__, "__qualname__": Plain.__qualname__})


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        (Plain, Base, False),
        (Plain, again(), True),  # a notebook cell that was run again
        ("own:Plain", "own:Plain", True),
        ("own:Plain", "own:Other", False),
        (lambda: 0, lambda: 0, False),  # a nested function has no name
    ],
)
def test_who_may_register_a_name_again(table, old, new, allowed):
    table.register("Name", Spec(old))
    if allowed:
        table.register("Name", Spec(new))
        assert table["Name"].entry is new
    else:
        with pytest.raises(ValueError, match="'Name' is registered already"):
            table.register("Name", Spec(new))
    with pytest.raises(ValueError, match="'Ours' is registered already"):
        table.register("Ours", Spec(again()))


def test_a_worker_is_sent_what_was_registered_and_nothing_else(table):
    table.register("Mine", Spec(Base))
    assert table.own() == {"Mine": Spec(Base)}


# -- a policy is an agent ------------------------------------------------------------------------------------------


@rows("policy", POLICIES)
def test_an_agent_around_a_policy_takes_what_both_take(policy):
    own = parameters(POLICIES[policy])
    assert parameters(AGENTS[policy]) == own
    assert parameters(AGENTS[f"QuACK-{policy}"]).keys() == {"leader", "routing", "elect_leader", *own}
    for agent in (policy, f"QuACK-{policy}"):
        for wrong in ("policy", "nerve", "params"):
            with pytest.raises(TypeError, match=f"agent {agent} takes no parameter {wrong}="):
                hb.make_team(agent, **{wrong: "UCB"})
        for name in own:
            assert hb.make_team(agent).name == agent
            assert hb.make_team(agent).policy.name == policy, name


# -- parameters handed on ------------------------------------------------------------------------------------------


class Middle(Base):
    def __init__(self, depth=0, **rest):
        super().__init__(**rest)


class Leaf(Middle):
    def __init__(self, *, broken=False, **rest):
        if broken:
            raise TypeError("broken: unexpected keyword argument 'deptth'")
        super().__init__(**rest)


class Keeps(Base):
    """A class that accepts any option."""

    def __init__(self, **options):
        super().__init__()
        self.options = options


@rows("cls", [Middle, Leaf])
@rows(("wrong", "meant"), [("deptth", "depth"), ("sizze", "size")])
def test_what_nobody_down_the_line_takes_is_named_with_the_nearest(cls, wrong, meant):
    with pytest.raises(TypeError, match=f"thing takes no parameter {wrong}=2; did you mean {meant}"):
        Spec(cls).build(Base, "thing", {"depth": 1, wrong: 2})


def test_what_is_wrong_otherwise_is_said_as_it_is():
    with pytest.raises(TypeError, match=r"^broken: unexpected"):
        Spec(Leaf).build(Base, "thing", {"broken": True})
    with pytest.raises(ValueError, match="broken='no'"):
        Spec(Leaf).build(Base, "thing", {"broken": "no"})
    with pytest.raises(TypeError, match="must build a Keeps"):
        Spec(Leaf).build(Keeps, "thing", {})
    assert Spec(Keeps).build(Keeps, "thing", {"any": 1}).options == {"any": 1}
    assert Spec(Leaf, {"size": 3}).build(Base, "thing", {"depth": 2}).size == 3


# -- listed --------------------------------------------------------------------------------------------------------


def test_what_ships_is_described_without_being_imported():
    code = (
        "import sys, hushbandits\nfrom hushbandits.registry import AGENTS, ENVS, WRAPPERS\n"
        "[spec.about() for table in (ENVS, AGENTS, WRAPPERS) for spec in table.values()]\n"
        "print([m for m in sys.modules if m.startswith(('hushbandits.agents', 'hushbandits.envs', 'numba'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("table", [ENVS, AGENTS, WRAPPERS, POLICIES], ids=lambda t: t.kind)
def test_what_is_read_in_the_source_is_what_is_imported(table):
    for name, spec in table.items():
        first = (spec.load().__doc__ or "").strip().partition("\n")[0]
        if spec.rest is None:
            assert spec.about() == first, name
        else:
            assert spec.about() == f"{spec.load().__name__}: {spec.rest.about()}", name
        assert spec.about(), name
