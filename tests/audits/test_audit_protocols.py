"""Protocols hide small cohorts and the order of senders."""

from functools import partial

import pytest
from kinds import weekly_but

from hushbandits.audits.cases import Budget
from hushbandits.audits.hiding import routes
from hushbandits.wrappers.secagg import SecAgg
from hushbandits.wrappers.shuffle import Shuffle

#: No dropouts inside the protocol: the audit counts active agents since a window opened, not those who stay.
PROTOCOLS = {
    "SecAgg": partial(SecAgg, protocol="bonawitz", threshold=1),
    "Shuffle": partial(Shuffle, protocol="mixnet", n_mixes=2),
}


@pytest.mark.weekly
@pytest.mark.parametrize(
    ("kind", "samples"), weekly_but([("SecAgg", 40)], ("SecAgg", 40), ("SecAgg", 90), ("Shuffle", 90))
)
def test_a_protocol_hides_what_the_ideal_does(kind, samples):
    verdicts = list(routes(PROTOCOLS[kind], kind, kind, Budget(samples=samples)))
    assert len(verdicts) >= 3
    assert [verdict.check for verdict in verdicts if not verdict.passed] == []
