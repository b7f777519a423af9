"""Folders of one run, played on machines that share nothing, put together."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from hushbandits.bench.play.errors import StoreError
from hushbandits.bench.play.folder import making
from hushbandits.bench.play.store import FILE, Store

__all__ = ["merge"]


def merge(folders: Sequence[Path | str], out: Path | str, *, accept_edits: bool = False) -> Store:
    """Put the runs, failures and sessions of some folders into one, all or nothing.

    Nothing is run, and nothing that a folder names is imported.

    Parameters
    ----------
    folders : sequence of paths
        Folders of one declaration and seed, such as those of all shards; they stay as they are.
    out : path
        A new folder, or one of the same run, which may have runs already.
    accept_edits : bool
        Merge although an agent, env, wrapper or data file of one's own differs between folders.

    Returns
    -------
    Store
        The folder's; close it, or use it in a ``with`` block.

    Raises
    ------
    StoreError
        A folder is damaged, holds another run, or has a run with other values than another one; nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> from hushbandits.bench.declare.spec import Experiment, Use
    >>> from hushbandits.bench.run import run
    >>> tiny = Experiment(name="tiny", title="Tiny", env=Use("CoopNetwork-v0", n_agents=4, horizon=20),
    ...                   agents=[Use("UCB1")], runs=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i in (1, 2):
    ...         run(tiny, f"{folder}/{i}", shard=f"{i}/2", progress=False).store.close()
    ...     with merge([f"{folder}/1", f"{folder}/2"], f"{folder}/both") as store:
    ...         store.final(tiny.cells()[0], "regret", runs=4).shape
    (4,)
    """
    out = Path(out)
    if not folders:
        raise StoreError("folders: name at least one to merge")
    with contextlib.ExitStack() as stack:
        sources = [
            stack.enter_context(Store(Path(folder) / FILE, readonly=True))
            for folder in folders
            if not (out / FILE).is_file() or Path(folder).resolve() != out.resolve()
        ]
        if not sources:
            return Store(out / FILE, readonly=True)
        first = sources[0]
        for source in sources:
            _same(first, source)
            for _ in source.verify():  # whole, before anything is written
                pass
        if not accept_edits:
            _refuse_edits(sources)
        with making(out):
            store = Store(out / FILE, first.experiments, first.seed)
            try:
                _same(store, first)
                store.absorb(sources)
            except BaseException:
                store.discard()
                raise
    store.seal()
    return store


def _same(one: Store, other: Store) -> None:
    if said := other.differs(one.experiments, one.seed):
        raise StoreError(f"{other.path.parent} holds another run than {one.path.parent}: {said}")


def _refuse_edits(sources: Sequence[Store]) -> None:
    noted: dict[str, tuple[str, Store]] = {}
    for source in sources:
        for _, session in source.sessions():
            for name, digest in session.get("own", {}).items():
                known, where = noted.setdefault(name, (digest, source))
                if known != digest:
                    raise StoreError(
                        f"{name!r} differs between {where.path.parent} and {source.path.parent}; mix their rows "
                        f"knowingly with --accept-edits (accept_edits=True)"
                    )
