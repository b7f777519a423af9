"""What the metrics of a run folder are: told when its cells are played, read without building anything.

What a store names is not imported; of a folder of an earlier version only what ships is known.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from hushbandits.bench.declare.shapes import text
from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.declare.vocabulary import shipped
from hushbandits.bench.play.meetings import MOST, Meetings
from hushbandits.bench.play.store import Store
from hushbandits.core.ground.types import Params
from hushbandits.core.measure import NATURES, Measure

__all__ = ["Measures", "declared", "join", "measures", "never", "told"]


class Measures(dict[str, Measure]):
    """Measures by metric; a metric that is not declared may be any number, and is called by its name.

    Examples
    --------
    >>> Measures()["new_one"]
    Measure(label='new one', nature='measure')
    """

    def __missing__(self, name: str) -> Measure:
        return Measure.of(name)


def told(experiments: Sequence[Experiment], meetings: Meetings, but: Container[str] = ()) -> Params:
    """Return what a session notes: what metrics are, by experiment's name, and what first cells promise, by their keys.

    `but`: keys of cells that cannot meet.

    Raises
    ------
    ValueError
        Two envs, agents or wrappers of one experiment disagree.

    Examples
    --------
    >>> from hushbandits.bench.declare.spec import Use
    >>> tiny = Experiment(name="tiny", title="Tiny", env=Use("CoopNetwork-v0"), agents=[Use("UCB1")])
    >>> noted = told([tiny], Meetings([tiny]))
    >>> noted["measures"]["tiny"]["messages"], [[row[0] for row in rows] for rows in noted["privacy"].values()]
    (['messages sent', 'count'], [['nobody']])
    """
    shown = (cell for e in experiments for cell in e.cells()[:MOST] if cell.key not in but)
    return {
        "privacy": {cell.key: meetings.of(cell).privacy for cell in shown},
        "measures": {
            e.name: {n: [m.label, m.nature] for n, m in declared(e, meetings, but).items()} for e in experiments
        },
    }


def declared(experiment: Experiment, meetings: Meetings, but: Container[str] = ()) -> dict[str, Measure]:
    """Return what an experiment's envs, agents and wrappers declare; each combination of them is asked once.

    `but`: keys of cells that cannot meet.
    """
    found: dict[str, Measure] = {}
    seen = set()
    for cell in experiment.cells():
        players = cell.env.name, cell.agent.name, *(w.name for w in cell.wrappers)
        if players in seen or cell.key in but:
            continue
        seen.add(players)
        join(found, meetings.of(cell).measures)
    return found


def join(found: dict[str, Measure], more: Mapping[str, Measure]) -> None:
    """Add declarations to those of other cells of the same experiment; ``ValueError`` where they disagree."""
    for name, measure in more.items():
        if (other := found.setdefault(name, measure)).nature != measure.nature:
            raise ValueError(
                f"the metric {name!r} is declared as {measure.nature}, and by another env, agent or wrapper of this "
                f"experiment as {other.nature}; call one of them otherwise"
            )


def measures(store: Store, experiment: Experiment) -> Mapping[str, Measure]:
    """Return what the metrics of an experiment in a store are, as last told; of an older folder: as shipped envs say.

    What a store says and cannot be read counts as not said.
    """
    known: Measures | None = None
    for _, about in store.sessions():
        kept = about.get("measures")
        mine = kept.get(experiment.name) if isinstance(kept, dict) else None
        if isinstance(mine, dict):
            known = Measures({**(known or {}), **{n: Measure(*m) for n, m in mine.items() if _sound(m)}})
    return Measures(shipped()) if known is None else known


def never(store: Store) -> dict[str, str]:
    """Return why cells of a store can never be played, by their keys, as its sessions noted it."""
    noted = [about.get("skipped") for _, about in store.sessions()]
    told = {k: why for kept in noted if isinstance(kept, dict) for k, why in kept.items() if text(why)}
    return told | store.skipped


def _sound(entry: object) -> bool:
    if not (isinstance(entry, list) and len(entry) == 2):
        return False
    label, nature = entry
    return text(label) and bool(label) and isinstance(nature, str) and nature in NATURES
