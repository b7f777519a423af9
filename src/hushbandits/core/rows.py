"""Reset of the state of all runs, or of some runs, in an object that plays many runs."""

from hushbandits.core.utils import Array


def set_rows(part: object, rows: Array | None, /, **fresh: object) -> None:
    """Set the attributes of `part` named in `fresh` to their new values, in all runs or only in the runs `rows`.

    Parameters
    ----------
    part : object
        Plays R runs.
    rows : (n,) ints or None
        The runs that start; ``None``: all.
    **fresh
        Arrays, lists or random streams of the runs that start: n entries each on the first axis.

    Examples
    --------
    >>> import numpy as np
    >>> class Counts:
    ...     def reset(self, rng, rows=None):
    ...         set_rows(self, rows, seen=np.zeros(len(rng)))
    >>> counts = Counts()
    >>> counts.reset([1, 2, 3])
    >>> counts.seen += 5
    >>> counts.reset([4], rows=np.array([1]))
    >>> counts.seen.tolist()
    [5.0, 0.0, 5.0]
    """
    for name, value in fresh.items():
        if rows is None:
            setattr(part, name, value)
        elif isinstance(value, list):
            held = getattr(part, name)
            for row, one in zip(rows, value, strict=True):
                held[row] = one
        else:
            getattr(part, name)[rows] = value
