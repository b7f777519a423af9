"""Run experiments into a folder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.results import Results, read
from hushbandits.bench.runner.options import RunOptions
from hushbandits.bench.runner.run import Played, play
from hushbandits.core import shown

__all__ = ["Outcome", "run"]


class Outcome(Played):
    """What a call of `run` did: `played` runs were added, `failures` raised; the results are those of the folder."""

    @cached_property
    def results(self) -> Results:
        """All that the folder holds."""
        return read(self.store)


def run(
    experiments: Experiment | Sequence[Experiment], out: Path | str, *, seed: int = 0, shard: str | None = None,
    options: RunOptions | None = None,
) -> Outcome:  # fmt: skip
    """Play what is missing in a results folder.

    Every batch of runs is a pure function of its cell, the seed and the numbers of its runs: an interrupted run
    continues with the same call, several processes may write to one folder, and the folders of shards are merged by
    copying their files into one.

    Parameters
    ----------
    experiments : Experiment or sequence of Experiment
        What to run.
    out : path
        The folder: a new one, or one of the same experiments and seed.
    seed : int
        Master seed; a run's own seed depends on it and on the env part of its cell.
    shard : str, optional
        ``"2/5"``: play every fifth batch only, from the second on.
    options : RunOptions, optional
        Processes, progress and the like; none of them changes a number.

    Returns
    -------
    Outcome

    Raises
    ------
    RunError
        Workers cannot be used; what is done is kept.
    StoreError
        The folder cannot be written, holds something else, or rows would be mixed.
    ValueError, TypeError
        Bad input; nothing is written then.

    Examples
    --------
    >>> import tempfile
    >>> from hushbandits.bench.declare.spec import Experiment, Use
    >>> tiny = Experiment(name="tiny", title="Tiny", env=Use("CoopNetwork-v0", n_agents=4, horizon=20),
    ...                   agents=[Use("Multi-UCB")], runs=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run(tiny, folder)
    ...     outcome.results.final("regret").shape, outcome.played
    ((2,), 2)
    """
    chosen = RunOptions() if options is None else options
    if chosen.checkpoints is not None:
        raise ValueError(
            f"checkpoints={shown(chosen.checkpoints)} is an option of evaluate; an experiment declares its own"
        )
    several = [experiments] if isinstance(experiments, Experiment) else list(experiments)
    if not all(isinstance(e, Experiment) for e in several):
        raise TypeError(f"experiments={shown(experiments)} must be an Experiment or a list of such")
    return Outcome(**vars(play(several, out, seed, shard, chosen)))
