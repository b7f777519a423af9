"""What is asked of cells before they are played, one meeting answers."""

from __future__ import annotations

from bench_helpers import small

from hushbandits.bench.declare.spec import Use
from hushbandits.bench.play import batch
from hushbandits.bench.run import run


def test_a_cell_meets_once_and_plays_once(tmp_path, monkeypatch):
    built = []
    assemble = batch.assemble

    def counted(*args, **kwargs):
        built.append(kwargs["runs"])
        return assemble(*args, **kwargs)

    monkeypatch.setattr(batch, "assemble", counted)
    outcome = run(small(agents=[Use("UCB1"), Use("Multi-UCB")]), tmp_path, progress=False)
    with outcome.store as store:
        assert outcome.played == 4 * 7
        assert len(store.sessions()[0][1]["privacy"]) == 4
    assert built == [1] * 4 + [7] * 4
