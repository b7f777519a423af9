"""Sums over TCP: the example, users who vanish, unknown clients, a server that is killed."""

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from secure_play import forged

from hushbandits.secure.messages import DIGEST, HEADER, Abort, Fault, Kind
from hushbandits.secure.parties import Parameters
from hushbandits.secure.server import Server
from hushbandits.secure.transport import answer, serve
from hushbandits.secure.user import User

EXAMPLE = Path(__file__).parents[2] / "examples" / "secagg_over_sockets.py"
SPAWN = multiprocessing.get_context("spawn")
N = 5


class Silent(User):
    """Sends nothing more after a message, and keeps its connection."""

    until = threading.Event()

    def receive(self, data):
        if data[3] == Kind.INBOX:
            self.until.wait(20)
            raise Abort(Fault.LINK, "woken")
        return super().receive(data)


class Gone(User):
    def receive(self, data):
        if data[3] == Kind.INBOX:
            raise Abort(Fault.LINK, "gone")
        return super().receive(data)


class Lying(User):
    """Sends another message than its vector: bytes, or one of another round."""

    lie = staticmethod(lambda data: b"HS\x02" + b"\xff" * 200)

    def receive(self, data):
        mine = super().receive(data)
        return self.lie(mine) if mine[3] == Kind.MASKED else mine


def swarm(kinds, seconds=5.0, threshold=2, third_party=()):
    """Run a server and users as threads; return the results of the server and of each user."""
    p = Parameters(len(kinds), 1 << 40, 2, len(kinds) - 1, threshold, os.urandom(16))
    ended = {}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()

        def play(u, kind):
            try:
                answer(kind(p, u, np.full(2, 10**u, np.uint64)), address, 4 * seconds)
                ended[u] = "done"
            except Abort as abort:
                ended[u] = abort.fault

        threads = [threading.Thread(target=play, args=pair) for pair in enumerate(kinds)]
        guests = [socket.create_connection(address) for _ in third_party]
        for guest, said in zip(guests, third_party, strict=True):
            guest.sendall(said)
        for thread in threads:
            thread.start()
        server = Server(p)
        try:
            serve(server, listener, seconds)
            result = server.total.tolist()
        except Abort as abort:
            result = abort.fault
    Silent.until.set()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    Silent.until.clear()
    for guest in guests:
        guest.close()
    return result, ended


def test_a_sum_over_tcp():
    result, ended = swarm([User] * N)
    assert result == [11111, 11111]
    assert set(ended.values()) == {"done"}


def test_users_who_vanish_are_missed_at_once():
    begin = time.monotonic()
    result, ended = swarm([User, User, Gone, User, Gone], seconds=20.0)
    assert result == [1011, 1011]
    assert time.monotonic() - begin < 10
    assert ended == {0: "done", 1: "done", 2: Fault.LINK, 3: "done", 4: Fault.LINK}


def test_users_who_say_nothing_are_waited_for_so_long():
    result, ended = swarm([User, User, User, Silent], seconds=1.0)
    assert result == [111, 111]
    assert ended[3] is Fault.LINK


def test_too_few_are_an_abort_that_everybody_notices():
    result, ended = swarm([User, Gone, Gone, Gone])
    assert result is Fault.DROPOUT
    assert set(ended.values()) == {Fault.LINK}


@pytest.mark.parametrize(
    ("lie", "fault"),
    [
        (lambda data: b"HS\x02" + b"\xff" * 200, Fault.FORMAT),  # announces 4 GiB
        (lambda data: b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n", Fault.FORMAT),
        (lambda data: forged(data, sender=0), Fault.NAME),
        (lambda data: forged(data, body=data[HEADER:-DIGEST] + b"\0"), Fault.VALUE),
        (lambda data: data[:HEADER] + b"x" * (len(data) - HEADER), Fault.FORMAT),
    ],
)
def test_lies_are_aborts(monkeypatch, lie, fault):
    monkeypatch.setattr(Lying, "lie", staticmethod(lie))
    result, ended = swarm([User, User, User, Lying])
    # forged as user 0's: refused by its digest of the request, or because user 0 has answered
    assert result is fault or (fault is Fault.NAME and result is Fault.ROUND)
    assert set(ended.values()) <= {Fault.LINK}


def test_a_third_party_bytes_end_the_session_by_name():
    assert swarm([User] * 3, third_party=[b"x" * 100])[0] is Fault.FORMAT


def test_a_message_that_is_never_finished_holds_nobody_up_for_long():
    """It takes no user's place either: a client that connects first and is slow blocks one user at most."""
    result, ended = swarm([User] * 4, seconds=1.5, third_party=[b"HS\x01"])
    assert result in ([111, 111], [1111, 1111], [1011, 1011], [1101, 1101], [1110, 1110])
    assert list(ended.values()).count("done") == 3


def test_the_end_of_a_session_closes_who_still_comes(caplog):
    """Unknown clients connect all the time and send nothing: the server ends in time, with every connection closed."""
    over, guests = threading.Event(), []
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
        address = listener.getsockname()

        def knock():
            while not over.is_set():
                with suppress(TimeoutError):  # nobody accepts it after the end
                    guests.append(socket.create_connection(address, 5.0))
                time.sleep(0.002)

        third_party = threading.Thread(target=knock)
        third_party.start()
        begin = time.monotonic()
        with pytest.raises(Abort) as caught:
            serve(Server(Parameters(4, 9, 1, 3, 2, bytes(16))), listener, 0.3)
        assert time.monotonic() - begin < 5
        over.set()
        third_party.join(10)
    assert caught.value.fault is Fault.DROPOUT
    for guest in guests:
        with guest, suppress(ConnectionResetError):
            assert guest.recv(1) == b""
    assert not caplog.records


@pytest.mark.parametrize(
    "options",
    [
        pytest.param([], marks=pytest.mark.weekly),
        ["--users", "30", "--processes", "3", "--vanish", "4", "--neighbours", "20"],
    ],
)
def test_the_example(options):
    out = subprocess.run([sys.executable, EXAMPLE, *options], capture_output=True, text=True, check=True, timeout=120)
    assert "that is right" in out.stdout
    stayed = 26 if options else 10
    assert out.stdout.startswith(f"{stayed} of ")
    assert out.stderr == ""


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def serving(p, shown, stop):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        shown.send(listener.getsockname())
        if stop:
            os.kill(os.getpid(), signal.SIGSTOP)
        serve(Server(p), listener, 20.0)


def waiting(p, u, address, shown):
    try:
        answer((Silent if u == 0 else User)(p, u, np.zeros(1, np.uint64)), address, 8.0 if u else 30.0)
    except Abort as abort:
        shown.send(str(abort.fault))


@pytest.mark.parametrize("stop", [False, pytest.param(True, marks=pytest.mark.weekly)], ids=["killed", "stopped"])
def test_a_dead_server_leaves_no_process_and_no_socket(stop):
    """If the server is killed while it waits, or stopped before it begins, users' processes end with a reason."""
    p = Parameters(4, 9, 1, 3, 2, os.urandom(16))
    ours, theirs = SPAWN.Pipe()
    server = SPAWN.Process(target=serving, args=(p, theirs, stop))
    server.start()
    address = ours.recv()
    said, shown = SPAWN.Pipe()
    playing = [SPAWN.Process(target=waiting, args=(p, u, address, shown)) for u in range(1, 4)]
    silent = SPAWN.Process(target=waiting, args=(p, 0, address, shown))
    for process in (*playing, silent):
        process.start()
    time.sleep(4.0)
    server.kill()
    server.join(10)
    for process in playing:
        process.join(20)
        assert process.exitcode == 0
        assert said.recv() == Fault.LINK
    silent.kill()
    silent.join(10)
    assert not any(alive(process.pid) for process in (server, silent, *playing))
    with socket.socket() as again:  # the port is free
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(tuple(address))
