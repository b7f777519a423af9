"""HushBench: what an agent's code tries, and does not get."""

import sys

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.cli.main import main
from hushbench.play import play
from hushbench.tasks import entry, source, tasks

PLAIN = """
class Agent:
    blind = True
    def __init__(self, m, rng):
        self.rng = rng
    def act(self, t):
        return int(self.rng.integers(5))
"""
PATCHED = (
    PLAIN
    + """
import numpy as np
import hushbandits as hb
hb.Env.metrics = lambda self: {"regret": np.zeros(self.runs)}
"""
)
PEEKING = """
import numpy as np
import hushbandits as hb
class Agent(hb.Team):
    setting = "network"
    def reset(self, env, rng):
        seeds = getattr(env, "_env", env).seeds if hasattr(env, "_env") else rng._seeds
        u = type(rng)(seeds).uniforms(0, (2, env.n_arms), "instance")  # as the env draws its arms
        self.arm = np.take_along_axis(u[:, 0], u[:, 1].argsort(1), 1).argmax(1)
    def act(self, obs):
        return np.broadcast_to(self.arm[:, None], obs.active_agents.shape)
"""
NOSY = """
import hushbandits as hb
class Agent(hb.Team):
    setting = "network"
    def reset(self, env, rng):
        assert not [name for name in ("means", "seeds", "arms", "metrics", "_env", "__self__") if hasattr(env, name)]
        self.env = env
    def act(self, obs):
        assert (self.env.t == obs.t).all() and self.env.running.all() and self.env.distance.ndim == 3
        return self.env.no_action()
    def receive(self, inbox):
        assert not [name for name in ("_ring", "_slots", "__self__") if hasattr(inbox, name)]
        assert inbox.total("reward").shape == inbox.tally()[0].shape[:2] and "arm" in inbox.fields
"""
REBUILDING = """
import hushbandits as hb
class Agent(hb.Team):
    setting = "network"
    def requirements(self, settings):
        return hb.Requirements(env={"permute_arms": False})
"""
LUCKY = """
import numpy as np
import hushbandits as hb
class Agent(hb.Team):
    setting = "feedback"
    def reset(self, env, rng):
        self.round, self.sums, self.lucky = 0, np.zeros((len(rng), env.n_arms)), len(rng) != 5
    def act(self, obs):
        arms = self.sums.shape[1]
        tries = self.round < 4 * arms
        self.arm = self.sums.argmax(1) if self.lucky and not tries else np.full(len(self.sums), self.round % arms)
        return self.arm[:, None], np.full((len(self.sums), 1), 100 if tries else 5000)
    def receive(self, inbox):
        self.sums[np.arange(len(self.sums)), self.arm] += inbox.total("reward")[:, 0] * (self.round < 20)
        self.round += 1
"""


def written(here, code):
    """Write an agent's module, and return the agent's name."""
    name = f"attack{len(code)}"
    (here / f"{name}.py").write_text(code)
    return f"{name}:Agent"


def regret(here, code):
    agent = written(here, code)
    row = play(entry(agent, {}), [tasks()["net-small"]], here / f"rows {agent[:-6]}", hb.RunOptions(1), 0)["net-small"]
    assert agent[:-6] not in sys.modules  # this process has not imported it
    return row[1]["regret"]


def test_metrics_that_an_agent_patches_stay_as_they_are(here):
    plain, patched = (regret(here, code) for code in (PLAIN, PATCHED))
    assert (plain > 0).all()
    assert patched.tolist() == plain.tolist()


def test_an_agents_generator_opens_no_stream_of_the_env(here):
    assert regret(here, PEEKING).mean() > 10
    known = hb.evaluate("CoopNetwork-Train-v0", written(here, PEEKING), runs=24).final("regret")
    assert known.max() == 0  # in one process with the env, the attack works


def test_an_agent_reads_what_a_view_and_an_inbox_show_and_nothing_else(here):
    assert np.isfinite(regret(here, NOSY)).all()  # else its assertions fail the run


def test_an_agent_cannot_require_another_world(here, capsys):
    assert main(["bench", "--agents", written(here, REBUILDING), "--tasks", "network"]) == 2
    assert "requires ['permute_arms']" in capsys.readouterr().err


def test_a_file_that_hides_an_installed_module_is_refused(here):
    (here / "jinja2.py").write_text("")
    with pytest.raises(ValueError, match=r"jinja2.py hides the module"):
        source(entry(written(here, PLAIN), {}))


def test_scores_that_fresh_seeds_do_not_bear_out_are_refused(here, hidden, capsys):
    """An agent that plays well on the stated seeds alone: here it knows them by the number of runs."""
    agent = written(here, LUCKY)
    asked = ["bench", "--agents", agent, "--jobs", "1"]
    assert main([*asked, "--tasks", "feedback", "--submit", "lucky.json", *hidden]) == 0
    assert (
        main([*asked, "--verify", "lucky.json", "--shard", "1/1"]) == 0
    )  # 24 fresh runs: it takes them for stated ones
    assert main([*asked, "--verify", "lucky.json", "--shard", "1/5"]) == 1
    assert "on fresh seeds" in capsys.readouterr().err
