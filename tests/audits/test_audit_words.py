"""A check without power is not reported as passed, and a part that cannot be audited is reported."""

from dataclasses import replace

import numpy as np

import hushbandits as hb
from hushbandits.audits.cases import Budget, Case, everything
from hushbandits.audits.events import Change, refuted
from hushbandits.audits.suite import black_box
from hushbandits.cli.main import main
from hushbandits.core.utils import Spec
from hushbandits.registry import AGENTS, ENVS, WRAPPERS
from hushbandits.wrappers.distributed_dp import DiscreteLaplace
from hushbandits.wrappers.loss import Loss
from hushbandits.wrappers.secagg import SecAgg


def played(mechanism, samples, promised=None):
    """Return the black-box verdict on a mechanism that claims its ε, or another one."""
    env = hb.envs.feedback.Feedback(wrappers=[mechanism, SecAgg()], simulate_users="individual")
    case = Case("mine", env.mechanism, env, budget=Budget(samples=samples))
    claim = replace(case.promise, epsilon=promised or mechanism.epsilon)
    return black_box(replace(case, claim=claim), Change("a reward"), 8, where=(0,))


def test_a_check_without_power_is_not_tested():
    few = played(DiscreteLaplace(10.0, 1e-6), 400)
    assert few.word == "not tested"
    assert "too few runs for so large an ε" in few.why
    enough = played(DiscreteLaplace(1.0, 1e-6), 2000)
    assert enough.word == "passes"
    assert 1 < enough.least < 2
    assert played(DiscreteLaplace(2 * enough.least), 2000, promised=1.0).word == "FAILS"


def test_nothing_that_varies_refutes_nothing():
    bits = np.arange(200) >= 100
    assert refuted({"z": np.zeros(200)}, bits, bits, 0.0, 1e-6, [("", True)]) == (0.0, "")


class Works(hb.envs.feedback.Feedback):
    def __init__(self, *, wrappers=(), runs=1, broken=False):
        if broken:
            raise TypeError("a part of it is missing")
        super().__init__(wrappers=[*wrappers, DiscreteLaplace(1.0), SecAgg()], runs=runs)


class NeedsMore(Works):
    def __init__(self, key, *, wrappers=(), runs=1):
        super().__init__(wrappers=wrappers, runs=runs)


def fresh(monkeypatch, table, name, entry, **defaults):
    monkeypatch.setitem(table.entries, name, Spec(entry, defaults))


def test_what_cannot_be_built_is_shown_by_its_name(monkeypatch, capsys):
    """Formerly an env that raised a TypeError was left out, as if it had no guarantee."""
    fresh(monkeypatch, ENVS, "Works-v0", Works)
    fresh(monkeypatch, ENVS, "Broken-v0", Works, broken=True)
    fresh(monkeypatch, ENVS, "NeedsMore-v0", NeedsMore)
    fresh(monkeypatch, WRAPPERS, "Keyed", make_keyed)
    fresh(monkeypatch, AGENTS, "Lost", lost_agent)
    found = everything()
    assert {"Works-v0", "Broken-v0", "NeedsMore-v0", "Keyed", "Lost"} <= set(found)
    assert main(["audit", "Broken-v0"]) == 1
    out = capsys.readouterr().out
    assert "FAILS     Broken-v0: cannot be built: TypeError: a part of it is missing" in out
    assert main(["audit", "Lost"]) == 1
    assert "Lost: cannot be built: KeyError: 'nowhere'" in capsys.readouterr().out
    for name, words in (("NeedsMore-v0", "needs arguments (key)"), ("Keyed", "needs arguments (secret)")):
        assert main(["audit", name]) == 0
        out = capsys.readouterr().out
        assert f"not tested  {name}" in out
        assert words in out
        assert "1 of 1 checks have no power" in out.splitlines()[-1]


def make_keyed(secret):
    return Loss(0.1)


def lost_agent():
    raise KeyError("nowhere")


def test_a_check_that_raises_is_an_error_and_no_end(here, capsys):
    (here / "raises.py").write_text(
        "from hushbandits.wrappers.local_laplace import LocalLaplace\n"
        "class Raises(LocalLaplace):\n"
        "    def reset(self, env, seeds): raise OSError('no draw')\n"
    )
    assert main(["audit", "raises:Raises", "--samples", "200"]) == 1
    assert "OSError: no draw" in capsys.readouterr().out
