"""What ships passes the checkers that an author has: seeds decide, instances forget, metrics are numbers."""

import pytest
from homes import HOMES

import hushbandits as hb
from hushbandits.testing import check_agent, check_policy, check_wrapper

#: What cannot stand alone.
BEFORE = {"ShuffledSum": ["ShuffledNoise"], "FalseMeans": ["PrivateMeans"]}


@pytest.mark.parametrize("name", HOMES)
@pytest.mark.filterwarnings("ignore::UserWarning")  # votes that can do nothing
def test_agents(name):
    home = HOMES[name]
    check_agent(home.agent, home.env_id, env=home.env, wrappers=home.wrappers, **home.agent_kwargs)


@pytest.mark.parametrize("name", hb.list_wrappers())
def test_wrappers(name):
    check_wrapper(name, before=BEFORE.get(name, ()))


@pytest.mark.parametrize("name", hb.list_policies())
def test_policies(name):
    check_policy(name)
