"""OpenDP's measurements behind a wrapper: `examples/opendp_mechanisms.py`."""

from pathlib import Path

import numpy as np
import pytest

import hushbandits as hb
from hushbandits.audits.cases import Budget
from hushbandits.audits.suite import checks
from hushbandits.cli.main import main

pytest.importorskip("opendp")


@pytest.fixture(autouse=True)
def path(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples")


def test_the_claim_is_that_of_opendps_map():
    import opendp_mechanisms as example

    for cls, delta in ((example.Laplace, 0.0), (example.Gaussian, example.DELTA)):
        env = hb.make_batched("CoopNetwork-v0", n_agents=2, horizon=3, wrappers=[cls(0.5)])
        (promise,) = env.guarantees()
        assert (promise.epsilon, promise.delta) == (pytest.approx(0.5, rel=1e-6), delta)
        assert promise.claimed_by == cls.__name__


def test_the_noise_has_the_scale_of_the_claim():
    import opendp_mechanisms as example

    x = example.Noise(example.Laplace().measurement, 64).draw(None, (40, 100))
    assert x.shape == (40, 100)
    assert x.var() == pytest.approx(2.0, rel=0.35)  # more than six standard errors
    assert np.array_equal(x * 64, np.rint(x * 64))


def test_the_command_audits_it(capsys):
    assert main(["audit", "opendp_mechanisms:Laplace", "opendp_mechanisms:Gaussian", "--samples", "300"]) == 0
    assert "nothing was refuted" in capsys.readouterr().out


def test_a_scale_that_is_too_small_is_refuted(monkeypatch):
    import opendp_mechanisms as example

    monkeypatch.setattr(example.Laplace, "measurement", property(lambda self: example.laplace(64 / 3)))
    monkeypatch.setattr(example.Laplace, "spent", lambda self: (1.0, 0.0))
    (check, *_) = (c for c in checks(["opendp_mechanisms:Laplace"], Budget(samples=600)) if c.what == "one run")
    assert any(not verdict.passed for verdict in check.run())
