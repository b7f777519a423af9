"""A campaign of random calls of the public API: ``python tests/campaign.py SEED CALLS``.

It runs in a process of its own, so that the death of the interpreter is a finding and not the end of the tests.
Every call answers, or raises one sentence from the package's own code; nothing that is measured is ever not finite.
Prints one line per finding, and the number of calls last.
"""

import contextlib
import linecache
import os
import signal
import sys
import traceback
import warnings
from collections import Counter

import numpy as np

import hushbandits as hb
from hushbandits.core.team import EnvView
from hushbandits.core.wrapper import Wrapper
from hushbandits.registry import assemble, list_agents, list_envs

ALLOWED = (ValueError, TypeError, RuntimeError, KeyError)
PACKAGE = os.path.dirname(hb.__file__)
SLOWEST = 200  # seconds per call


WRONG = [
    None, "x", -1, 0, 1.5, True, np.nan, np.inf, -np.inf, 1e300, 10**9, 10**18, 10**30, [], [1], {}, object(), 5e-324,
    np.array([1, 2]), np.array(["a"]), np.zeros((2, 2)), np.float16(0.5), [[1], [2, 3]], "no", -3, 1j,
    np.datetime64("2020-01-01"),
]  # fmt: skip
#: Hooks of a user's wrapper that an env checks when it is built; ``check_wrapper`` checks those of a round.
HOOKS = ["message_fields", "inbox_fields", "own_reward_field", "claimed_guarantees"]
COUNTS = [1, 2, 3, 4, 9, 2.0]
MEANS = [[0.9, 0.1], [0.5, 0.5, 0.5], [0.2, 0.4, 0.6, 0.8], [1.0, 0.0]]
LAWS = ["bernoulli", "beta", "truncated-gaussian", "clipped-gaussian", "gaussian", "uniform", "constant"]
SANE = {
    "network": {
        "n_agents": COUNTS, "means": MEANS, "rewards": LAWS, "horizon": [1, 2, 3, 7], "permute_arms": [True, False],
        "graph": ["cycle", "grid", "star", "complete", "path", "erdos-renyi"], "edge_probability": [0.9, 1.0, 1e-3],
        "max_hops": [None, 0, 1, 2, "diameter", "diameter/2"], "edge_failure_prob": [0.0, 0.3, 1.0],
        "hop_delay": [0, 1, 5],
        "extra_fields": [None, None, {"x": hb.Field((2,), "f4")}, {"y": hb.Field(dtype="?")}],
        "fields": [None, None, {"x": hb.Field((2,), "f4"), "arm": hb.Field(dtype="i8")}, {"x": hb.Field(latest=True)}],
    },
    "exploration": {
        "n_agents": COUNTS, "means": MEANS, "rewards": ["bernoulli", "beta", "gaussian"], "horizon": [1, 5, 9],
        "agent_distribution": ["uniform", "power", "power:3", "50/80", [1, 2]], "threshold": [0, 1, 3],
        "vote_rule": [">", ">="], "delta": [0.05, 0.9], "beta": [0.5, 0.9], "eta": [0.9], "xi": [0.0, 0.1],
        "termination_by": ["coordinator", "everyone"], "vote_cost": [0, 1], "round_cost": [0, "others"],
        "inactive_agents": ["drop", "keep"], "termination": ["coordinator", "players", "horizon"],
        "one_arm_per_step": [True, False],
        "tolerance": [0.0, 0.3], "require_confidence": [False], "drift": [0.0, 0.1],
        "n_change_points": [0, 1], "allow_vote_resets": [True, False],
    },
    "feedback": {
        "n_agents": COUNTS, "means": MEANS, "rewards": ["bernoulli", "beta", "clipped-gaussian"],
        "horizon": [1, 2, 50, 3000], "simulate_users": ["aggregate", "individual"], "epsilon": [0.1, 1.0, 50.0],
    },
}  # fmt: skip
WRAPPERS = {
    "network": [
        ("Huber", {"rate": 0.5, "law": "gaussian"}), ("Huber", {"rate": 1.0, "relays": True}), ("Loss", {"rate": 0.5}),
        ("LocalLaplace", {"epsilon": 0.1}), ("SecAgg", {}), ("SecAgg", {"bound": 1e5, "quantization_levels": 2**20}),
        ("Shuffle", {}),
        ("SecAgg", {"bound": 1e90}), ("PrivateMeans", {}), ("Huber", {"law": "constant", "location": 1e90}),
    ],
    "exploration": [("Loss", {"rate": 0.5}), ("SecAgg", {"batch_window": 3}), ("Shuffle", {"batch_window": 2})],
    "feedback": [
        ("Huber", {"rate": 0.3}), ("Loss", {"rate": 0.7}), ("LocalLaplace", {"epsilon": 1.0}), ("Shuffle", {}),
        ("SecAgg", {}),
    ],
}  # fmt: skip


class Late(BaseException):
    """Raised for a call that takes too long."""


def too_late(*_):
    raise Late


class Campaign:
    def __init__(self, seed, calls):
        self.rng, self.left, self.found, self.seen = np.random.default_rng(seed), calls, Counter(), Counter()
        self.history = []

    # -- calling ----------------------------------------------------------------------------------------------------

    def pick(self, options):
        return options[self.rng.integers(len(options))]

    def call(self, what, function, *args, **kwargs):
        """Return the result, or ``None`` if the call was refused in one sentence."""
        self.left -= 1
        self.history.append(f"{what}{args}{kwargs}"[:300].replace("\n", " "))
        signal.alarm(SLOWEST)
        try:
            answer = function(*args, **kwargs)
            self.seen["answered"] += 1
            return answer
        except ALLOWED as error:
            self.seen["refused"] += 1
            self.judge(what, error)
        except Late:
            self.note(what, f"no answer in {SLOWEST} s")
        except Exception as error:
            self.note(what, f"{type(error).__name__}: {error}")
        finally:
            signal.alarm(0)
        return None

    def judge(self, what, error):
        text = str(error)
        last = traceback.extract_tb(error.__traceback__)[-1]
        own = os.path.dirname(last.filename).startswith(PACKAGE)
        raised = linecache.getline(last.filename, last.lineno).strip().startswith("raise")
        if not (own and raised and text.strip() and "\n" not in text):
            self.note(what, f"{type(error).__name__} at {os.path.basename(last.filename)}:{last.lineno}: {text}")

    def note(self, what, finding):
        line = f"{what}: {finding}".replace("\n", " ")[:300]
        if line not in self.found:
            print("FOUND", line, "| after", " ; ".join(self.history[-6:])[:1500], flush=True)
        self.found[line] += 1

    def finite(self, what, values):
        for name, value in values.items():
            if np.asarray(value).dtype.kind == "f" and not np.isfinite(value).all():
                if "epsilon" in name:  # a mechanism may have no guarantee
                    continue
                self.note(what, f"{name} is not finite")

    # -- what is called ---------------------------------------------------------------------------------------------

    def parameters(self, env_id, setting):
        table = SANE[setting]
        names = [n for n in table if self.rng.random() < 0.35]
        kwargs = {name: self.pick(table[name]) for name in dict.fromkeys(["horizon", *names])}
        if self.rng.random() < 0.3:
            name = self.pick(list(table))
            kwargs[name] = self.pick(WRONG)
        if env_id == "LTR-v0":
            kwargs = {k: v for k, v in kwargs.items() if k in ("n_agents", "horizon", "simulate_users")}
        if self.rng.random() < 0.4:
            some = self.some(setting)
            wrappers = [self.call("make_wrapper", hb.make_wrapper, name, **params) for name, params in some]
            kwargs["wrappers"] = [w for w in wrappers if w is not None]
        if self.rng.random() < 0.1:
            kwargs["wrappers"] = [*kwargs.get("wrappers", ()), self.third_party()]
        return kwargs

    def third_party(self):
        """Return a user-defined wrapper, one hook of which returns an odd value."""
        hook, value = self.pick(HOOKS), self.pick([*WRONG, {"regret": [0.0]}, {"x": ["a"]}])
        says = {"drop_prob": self.pick([None, None, np.nan, 2.0]), "operations": self.pick([(), (), "drop", ("dorp",)])}
        return type("ThirdParty", (Wrapper,), {hook: lambda *_: value, **says})()

    def some(self, setting):
        return [self.pick(WRAPPERS[setting]) for _ in range(self.rng.integers(1, 4))]

    def spoil(self, array):
        """Return an array like `array` with one change."""
        array = np.array(array)
        kind = self.rng.integers(9)
        if kind == 0 or (array.ndim == 0 and kind in (2, 3)) or array.dtype == object:
            return self.pick(WRONG)
        if kind == 1:
            return array.astype(self.pick(["f8", "f4", "i1", "u8", "?", "O", "c16", "U3"]))
        if kind == 2:
            return array[..., None] if self.rng.random() < 0.5 else array[0]
        if kind == 3:
            return np.concatenate([array, array])
        if kind == 4 and array.size:
            array = array.astype(float)
            array.flat[self.rng.integers(array.size)] = self.pick([np.nan, np.inf, -np.inf, 1e308, -1e200, 0.5])
            return array
        if array.size:
            array = array.astype(np.int64)
            array.flat[self.rng.integers(array.size)] = self.pick([-1, 2, 3, 4, 5, 10, 99, 2**31, 2**62, -(2**63)])
        return array

    def action(self, env):
        shape, k = env.active_agents.shape, env.n_arms
        if env.setting == "exploration":
            action = self.rng.random((*shape, k)) < self.pick([0.0, 0.5, 1.0])
            if getattr(env, "one_arm_per_step", False):
                action = self.rng.integers(k + 1, size=(*shape, 1)) == np.arange(k)
        else:
            action = self.rng.integers(k, size=shape)
        if env.setting == "feedback":
            pair = (action, self.rng.integers(1, 60, size=shape))
            if self.rng.random() < 0.3:
                pair = self.pick([(self.spoil(pair[0]), pair[1]), (pair[0], self.spoil(pair[1])), pair[:1], None])
            return pair
        return self.spoil(action) if self.rng.random() < 0.3 else action

    def message(self, env):
        if self.rng.random() < 0.4:
            return None
        said = {}
        for name, field in env.fields.items():
            shape = (*env.active_agents.shape, *field.shape)
            if field.form.kind == "f":
                said[name] = self.rng.random(shape)
            else:
                said[name] = self.rng.integers(2, size=shape).astype(field.dtype)
        if self.rng.random() < 0.3:
            said["sent"] = self.rng.random(env.active_agents.shape) < 0.5
        if said and self.rng.random() < 0.5:
            name = self.pick(list(said))
            said[name] = self.spoil(said[name])
        if self.rng.random() < 0.1:
            return self.pick([*WRONG, {**said, "extra": 1}, {}])
        return said

    def read(self, inbox, runs):
        for field in (*inbox.fields, "sender", "code", "users", 3):
            value = self.call("inbox[]", inbox.__getitem__, field)
            if value is not None and field != "users":
                self.finite("inbox[]", {str(field): value})
            total = self.call("inbox.total", inbox.total, field)
            if total is not None:
                self.finite("inbox.total", {str(field): total})
        tally = self.call("inbox.tally", inbox.tally)
        if tally is not None:
            self.finite("inbox.tally", {"pulls": tally[0], "sums": tally[1]})
        self.call("inbox.arrived", lambda: inbox.arrived)
        mixed = self.call("inbox.mix", inbox.mix, "reward", self.pick([*WRONG, np.ones((1, 3, 3)), np.eye(2)[None]]))
        if mixed is not None:
            self.finite("inbox.mix", {"mixed": mixed})
        for name in ("of", "at"):
            if hasattr(inbox, name):
                agents = self.rng.integers(3, size=runs)
                agents = self.spoil(agents) if self.rng.random() < 0.5 else agents
                self.call(f"inbox.{name}", getattr(inbox, name), agents, self.pick(["arm", "reward", "mean", "sender"]))

    # -- games ------------------------------------------------------------------------------------------------------

    def by_hand(self, env_id, setting):
        kwargs = self.parameters(env_id, setting)
        env = self.call(f"make_batched {env_id}", hb.make_batched, env_id, self.pick([1, 1, 2, 3]), **kwargs)
        if env is None:
            return
        seeds = self.pick([0, 1, 7, 7]) if self.rng.random() < 0.9 else self.pick(WRONG)
        if self.call("env.reset", env.reset, seeds) is None:
            return
        for _ in range(self.rng.integers(1, 7)):
            if self.rng.random() < 0.05:
                self.call("env.reset", env.reset, self.pick([3, hb.spawn_seeds(1, 4), *WRONG]))
            obs = None
            for _ in range(3):
                obs = obs or self.call("env.pull", env.pull, self.action(env))
            obs = None
            for _ in range(3):
                obs = obs or self.call("env.communicate", env.communicate, self.message(env))
            if obs is not None and self.rng.random() < 0.5:
                self.read(obs.inbox, env.runs)
            metrics = self.call("env.metrics", env.metrics)
            if metrics is not None:
                self.finite("env.metrics", metrics)
        self.call("hb.privacy_report", hb.privacy_report, env)
        for name in ("means", "horizon", "metrics", "seeds", "mechanism"):
            with contextlib.suppress(AttributeError):
                getattr(EnvView(env), name)

    def plain(self, env_id, setting):
        campaign = self

        class Plain:
            def __init__(self, m, rng, n_arms):
                self.k = n_arms

            def act(self, t):
                good = {"network": 0, "exploration": np.arange(self.k) == 0, "feedback": (0, 3)}[setting]
                return good if campaign.rng.random() < 0.9 else campaign.spoil(np.array(good))

            def compose(self, reward):
                if campaign.rng.random() < 0.8:
                    return None
                return campaign.pick([{"arm": campaign.pick(WRONG)}, {"reward": campaign.pick(WRONG)}, *WRONG])

        env = self.call(f"make_batched {env_id}", hb.make_batched, env_id, 2, **self.parameters(env_id, setting))
        if env is not None and env.horizon is not None and env.horizon < 100:
            metrics = self.call(f"play {env_id}", hb.rollout, env, hb.PerAgent(Plain))
            if metrics is not None:
                self.finite("play", metrics)

    def registered(self, env_id, setting):
        agent = self.pick(list_agents())
        team = self.call("make_team", hb.make_team, agent)
        kwargs = self.parameters(env_id, setting)
        wrappers = kwargs.pop("wrappers", ())
        kwargs = {name: value for name, value in kwargs.items() if name not in ("extra_fields", "fields")}
        env = self.call(f"assemble {env_id} {agent}", assemble, env_id, team, runs=2, env=kwargs, wrappers=wrappers)
        if env is not None and env.horizon is not None and env.horizon < 5000:
            metrics = self.call(f"play {env_id} {agent}", hb.rollout, env, team)
            if metrics is not None:
                self.finite("play", metrics)

    def view(self, env_id, setting):
        kwargs = self.parameters(env_id, setting)
        env = self.call(f"make {env_id}", hb.make, env_id, **{**kwargs, "two_phase": self.pick([False, True, True, 3])})
        if env is None:
            return
        options = self.pick([None, None, {}, {"runs": 2}, {"n_agents": 3}, {"means": [0.3, 0.6]}, *WRONG])
        self.call("view.reset", env.reset, self.pick([0, 1, None, "x"]), options)
        if self.call("view.reset", env.reset, self.pick([0, 1, None, "x"])) is None:
            return
        for _ in range(4):
            actions = {agent: env.action_space(agent).sample() for agent in env.agents}
            if actions and self.rng.random() < 0.4:
                agent = self.pick(list(actions))
                actions[agent] = self.pick(WRONG) if self.rng.random() < 0.5 else self.spoil(np.array(actions[agent]))
            actions = self.pick(WRONG) if self.rng.random() < 0.1 else actions
            self.call(f"view.step {env_id}", env.step, actions)

    def run(self):
        envs = {id: hb.make_batched(id).setting for id in list_envs()}
        games = [self.by_hand] * 6 + [self.plain] * 2 + [self.view] * 2 + [self.registered]
        while self.left > 0:
            env_id = self.pick(list(envs))
            self.history = []
            self.pick(games)(env_id, envs[env_id])


def main():
    """Play one campaign."""
    os.environ["HUSHBANDITS_MEMORY"] = "0.05"
    warnings.simplefilter("error")
    # a run without a best arm is valid too
    warnings.filterwarnings("ignore", "no arm can ever be voted out|.* needs .* votes to remove an arm")
    signal.signal(signal.SIGALRM, too_late)
    campaign = Campaign(int(sys.argv[1]), int(sys.argv[2]))
    calls = campaign.left
    campaign.run()
    print("CALLS", calls - campaign.left, dict(campaign.seen), sum(campaign.found.values()))


if __name__ == "__main__":
    main()
