"""Privacy costs are reported for valid guarantees; otherwise metrics, notes and costs say that none holds."""

import numpy as np
import pytest
from kinds import by_class
from named import taken

import hushbandits as hb
from hushbandits.bench.runner.curves import record
from hushbandits.core.metric import Metric
from hushbandits.core.wrapper import gathered
from hushbandits.registry import list_envs, make_batched
from hushbandits.wrappers.loss import Loss

LAWS = ("bernoulli", "clipped-gaussian", "gaussian", "stable", "constant")
SMALL = {"n_agents": 3, "horizon": 60}


def spenders():
    """Return ids whose wrappers measure ε, with every law of rewards that they accept."""
    for env_id in list_envs():
        core = make_batched(env_id)
        for law in LAWS if any("epsilon" in gathered(w) for w in core.wrappers) else ():
            yield env_id, law


def built(env_id, law):
    try:
        return make_batched(env_id, 2, rewards=law, **{k: v for k, v in SMALL.items() if k in taken(env_id)})
    except ValueError:  # unbounded rewards, which the env refuses
        return None


@pytest.mark.parametrize(("env_id", "law"), by_class(spenders()))
def test_what_is_spent_is_said_where_a_promise_holds_and_there_alone(env_id, law):
    core = built(env_id, law)
    if core is None:
        return
    holds = any(np.isfinite(g.epsilon) for g in core.guarantees())
    holds |= any(isinstance(w, Loss) for w in core.wrappers)  # the ledger knows the cost of blocks with losses
    final, curves = record(core, hb.make_team("Random"), 0, [1, 20, 60], core.logged_metrics)
    spent = [final[name] for w in core.wrappers for name in w.privacy_cost_metrics if name in final]
    spent += [curves[name] for w in core.wrappers for name in w.privacy_cost_metrics if name in curves]
    assert spent
    assert all((np.isfinite(value) if holds else np.isinf(value)).all() for value in spent)


def test_the_papers_own_form_promises_nothing_about_a_run_and_spends_of_nothing():
    """With exact own rewards a single release is covered, and no sum of releases."""
    for own, holds in (("true", False), ("private", True)):
        results = hb.evaluate("PrivateNetwork-v0", "Private-UCB", runs=2, env=SMALL, agent_kwargs={"own_feedback": own})
        assert np.isfinite(results.final("epsilon")).all() == holds


class Hopeful(hb.Wrapper):
    """A wrapper with a fixed cost metric, and guarantees with the given ε."""

    metrics_spec = {"epsilon": Metric("ε", "amount")}  # noqa: RUF012

    def __init__(self, bound):
        super().__init__()
        self.bound = bound

    def metrics(self, env):
        return {"epsilon": np.full(env.runs, 0.5)}

    def claimed_guarantees(self, env):
        return tuple(hb.Guarantee("hope", e, 0.0, "one reward", "all", (), "") for e in self.bound)


@pytest.mark.parametrize(
    ("bound", "law", "spent"),
    [
        ((), "bernoulli", np.inf),
        ((np.inf,), "bernoulli", np.inf),
        ((1.0,), "bernoulli", 0.5),
        ((np.inf, 1.0), "bernoulli", 0.5),
        ((1.0,), "gaussian", np.inf),
    ],
)
def test_a_wrapper_of_ones_own_spends_of_what_it_promises(bound, law, spent):
    core = make_batched("CoopNetwork-v0", 2, rewards=law, wrappers=[Hopeful(bound)], **SMALL)
    assert hb.rollout(core, hb.make_team("Random"))["epsilon"].tolist() == [spent] * 2
