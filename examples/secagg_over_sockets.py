"""A secure sum over TCP on this machine: the server and the users run in separate processes.

Each user knows its own vector, and the server learns the sum of the remaining users.  Some users drop out.

    python examples/secagg_over_sockets.py --users 12 --processes 4 --vanish 2
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

import numpy as np

from hushbandits.secure.messages import Abort, Kind
from hushbandits.secure.parties import Parameters
from hushbandits.secure.server import Server
from hushbandits.secure.transport import answer, serve
from hushbandits.secure.user import User

MODULUS = 1 << 40
#: If the system allows it, processes are forked from one with all imports.
STARTED = multiprocessing.get_context(
    "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
)


class Vanishing(User):
    """A user whose process exits once the others' shares have arrived."""

    def receive(self, data: bytes) -> bytes:
        if data[3] == Kind.INBOX:
            os._exit(0)
        return super().receive(data)


def vector(name: int, length: int) -> np.ndarray:
    """Return the secret vector of a user; in this example it is predictable."""
    return np.arange(length, dtype=np.uint64) + np.uint64(1000 * name)


def server(parameters: Parameters, seconds: float, shown: Connection) -> None:
    """Listen on a free port of this machine; report the port, and then how the sum ended."""
    with socket.create_server(("127.0.0.1", 0), backlog=parameters.n) as listener:
        shown.send(listener.getsockname())
        party = Server(parameters)
        try:
            serve(party, listener, seconds)
        except Abort as abort:
            shown.send(str(abort))
        else:
            shown.send((party.total, party.survivors, int(party.up.sum()), int(party.down.sum())))


def users(parameters: Parameters, names: list[int], vanish: bool, address: tuple[str, int], seconds: float) -> None:
    """Run some users, one thread each, with keys from the operating system."""
    kind = Vanishing if vanish else User
    parties = [kind(parameters, name, vector(name, parameters.length)) for name in names]
    with ThreadPoolExecutor(len(parties)) as threads:
        list(threads.map(lambda party: answer(party, address, seconds), parties))


def play(parameters: Parameters, processes: int, vanish: int, seconds: float) -> object:
    """Start all processes and wait for the sum; return the server's report, or None if it died."""
    STARTED.set_forkserver_preload(["hushbandits.secure.transport"])
    ours, theirs = STARTED.Pipe()
    serving = STARTED.Process(target=server, args=(parameters, seconds, theirs), daemon=True)
    serving.start()
    theirs.close()  # else its end would not be seen
    address = ours.recv()
    names = list(range(parameters.n))
    groups = [([name], True) for name in names[:vanish]]
    groups += [(names[vanish + i :: processes], False) for i in range(processes) if names[vanish + i :: processes]]
    often = 10 * seconds  # others are waited for in each of its rounds
    playing = [
        STARTED.Process(target=users, args=(parameters, *group, address, often), daemon=True) for group in groups
    ]
    for process in playing:
        process.start()
    try:
        return ours.recv()
    except EOFError:
        return None
    finally:
        for process in (serving, *playing):
            process.join(often)
            process.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=12)
    parser.add_argument("--processes", type=int, default=4, help="that play the users who stay")
    parser.add_argument("--vanish", type=int, default=2, help="users who vanish, each a process of its own")
    parser.add_argument("--neighbours", type=int, default=0, help="0: everybody")
    parser.add_argument("--length", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="that the server waits in a round")
    given = parser.parse_args()
    k = min(given.neighbours or given.users - 1, given.users - 1)
    parameters = Parameters(given.users, MODULUS, given.length, k, k // 2 + 1, os.urandom(16))
    begin = time.perf_counter()
    shown = play(parameters, given.processes, given.vanish, given.seconds)
    if not isinstance(shown, tuple):
        raise SystemExit(f"no sum: {shown or 'the server died'}")
    total, survivors, up, down = shown
    expected = sum(vector(name, given.length) for name in survivors) % np.uint64(MODULUS)
    print(f"{len(survivors)} of {given.users} users stayed; their sum is {total.tolist()}")
    print("that is right" if (total == expected).all() else "that is WRONG")
    print(f"{up:,} bytes up, {down:,} down, {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
