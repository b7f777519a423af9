"""The function `run`, which plays experiments and saves their results in a folder."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from hushbandits.bench.results import Results, read
from hushbandits.bench.runner.options import RunOptions, chosen_of
from hushbandits.bench.runner.run import Played, play
from hushbandits.bench.spec.experiment import Experiment
from hushbandits.core.utils import shown, told


class Outcome(Played):
    """Outcome of `run`: the number of runs that were `played`, the `failures`, and the results in the folder."""

    @cached_property
    def results(self) -> Results:
        """Return all results in the folder."""
        return read(self.store)


@told
def run(
    experiments: Experiment | Sequence[Experiment], out: Path | str, *, seed: int = 0, shard: str | None = None,
    options: RunOptions | None = None,
) -> Outcome:  # fmt: skip
    """Play the missing runs of experiments and save them in a results folder.

    Each batch of runs is a pure function of its cell, the seed and the run numbers.  The same call continues an
    interrupted run, and several processes may write to one folder.  To merge the folders of shards, copy their files
    into one folder.

    Parameters
    ----------
    experiments : Experiment or sequence of Experiment
        Experiments to run.
    out : path
        The folder: a new one, or one of the same experiments and seed.
    seed : int
        Master seed; the seed of a run depends on it and on the env part of its cell.
    shard : str, optional
        ``"2/5"``: play every fifth batch only, beginning with the second.
    options : RunOptions, optional
        Processes, progress and the like; none of them changes a number.

    Returns
    -------
    Outcome

    Raises
    ------
    RunError
        Workers cannot be used; finished batches are saved.
    StoreError
        The folder cannot be written, has another declaration or seed, or rows of changed code would be mixed.
    ValueError, TypeError
        Invalid input; nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> from hushbandits.bench.spec.experiment import Experiment, Component
    >>> tiny = Experiment(name="tiny", title="Tiny", env=Component("CoopNetwork-v0", n_agents=4, horizon=20),
    ...                   agents=[Component("Multi-UCB")], runs=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run(tiny, folder)
    ...     outcome.results.final("regret").shape, outcome.played
    ((2,), 2)
    """
    chosen = chosen_of(options)
    if chosen.checkpoints is not None:
        raise ValueError(f"checkpoints={shown(chosen.checkpoints)} is no option of run; give them to the Experiment")
    several = [experiments] if isinstance(experiments, Experiment) else list(experiments)
    if not several or not all(isinstance(e, Experiment) for e in several):
        raise TypeError(f"experiments={shown(experiments)} must be an Experiment or a list of one or more Experiments")
    return Outcome(**vars(play(several, out, seed, shard, chosen)))
