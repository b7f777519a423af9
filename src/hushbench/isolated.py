"""User-defined agents in separate processes, which share no memory with env, random streams and metrics.

Messages to such a process are pickled, except env, view and inbox, for whose attributes the process asks by name.  Its
replies are JSON, so that nothing in them can run code here.
"""

import atexit
import builtins
import contextlib
import hashlib
import io
import itertools
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from types import MethodType
from typing import Any

import numpy as np

import hushbandits as hb
from hushbench.tasks import protocol

#: Whatever crosses from one process to the other.
Sent = Any
#: Declarations of a team that its process sends.
DECLARED = ("name", "setting", "fields", "any_fields", "decides_runs", "required_own_reward", "required_inbox")
#: Names of an inbox that may be read or called.
_INBOX = ("fields", "arrived", "own", "__getitem__", "total", "mix", "of", "at", "tally")
_NUMBERS = itertools.count()


class Isolated(hb.Team):
    """A team whose code runs in another process, and can read only public attributes and methods of view and inboxes.

    Its generators have keys derived by BLAKE2b from draws of the team's own stream, so they open no stream of the env.

    Parameters
    ----------
    agent : sequence of str
        Its name, split at the colon: ``("own_server", "Server")``.
    source : str
        Digest of its code.
    params : mapping
        Its parameters.

    Raises
    ------
    ValueError, TypeError
        As `make_team` raises in that process, or the agent requires parameters of the env beyond `protocol`.
    """

    name, stream = "", "isolated"

    def __init__(self, agent: Sequence[str], source: str, params: Mapping[str, Sent]):
        self._process, self._number = _process(tuple(agent), source, os.getcwd()), next(_NUMBERS)
        self._known: dict[str, Sent] = {}
        said = self._ask("make", ":".join(agent), dict(params))
        fields = {name: hb.Field(tuple(shape), *rest) for name, (shape, *rest) in (said["fields"] or {}).items()}
        vars(self).update({name: said[name] for name in DECLARED} | {"fields": fields or None})

    def requirements(self, settings: dict[str, object]) -> hb.Requirements:
        env, wrappers = self._ask("requirements", settings)
        if odd := {*env, *(name for name, _ in wrappers)} - {*protocol()}:
            raise ValueError(f"{self.name} requires {sorted(odd)} of its env; allowed are {', '.join(protocol())}")
        return hb.Requirements(env, tuple((name, params) for name, params in wrappers))

    def validate_env(self, env: Sent) -> None:
        self._known["view"] = env
        self._ask("validate_env", env)

    def reset(self, env: Sent, rng: Sent) -> None:
        self._known["view"] = env
        drawn = [hashlib.blake2b(rng.generator(r).bytes(32), digest_size=24).digest() for r in range(len(rng))]
        self._ask("reset", env, type(rng)(np.frombuffer(b"".join(drawn), np.uint64).reshape(-1, 3)))

    def act(self, obs: hb.Observation) -> Sent:
        self._known["inbox"] = obs.inbox
        action = self._ask("act", obs)
        return tuple(action) if isinstance(action, list) else action

    def compose(self, reward: Sent) -> Sent:
        return self._ask("compose", reward)

    def receive(self, inbox: hb.Inbox) -> None:
        self._known["inbox"] = inbox
        self._ask("receive", inbox)

    def _ask(self, hook: str, *given: object) -> Sent:
        """Call the team's method `hook` in the other process, answer requests from there, and return the result."""
        view: Sent = self._known.get("view")
        playing = hook in ("act", "compose", "receive")
        reply = self._sent((self._number, hook, given, {"t": view.t, "running": view.running} if playing else {}))
        while reply[0] == "ask":
            reply = self._sent(self._answer(*reply[1:]))
        if reply[0] == "raised":
            raise {"ValueError": ValueError, "TypeError": TypeError}.get(reply[1], RuntimeError)(reply[2])
        return reply[1]

    def _answer(self, what: str, name: str, given: Sent) -> tuple[str, object]:
        """Return a pair: ``""`` and the requested attribute or method result, or the class and text of an error."""
        try:
            its = self._known[what]
            if name not in (_INBOX if what == "inbox" else dir(its)):
                raise AttributeError(f"{what} has no public {name!r}")
            found = getattr(its, name)
            if isinstance(found, MethodType):
                found = ... if given is None else found(*given[0], **given[1])
            return "", dict(found) if isinstance(found, Mapping) else found
        except Exception as error:
            return type(error).__name__, str(error)

    def _sent(self, message: object) -> Sent:
        """Send a message, and return the reply."""
        pickler = _Pickler(out := io.BytesIO())
        pickler.view = self._known.get("view")
        pickler.dump(message)
        self._process.stdin.write(out.getvalue())
        self._process.stdin.flush()
        if not (line := self._process.stdout.readline()):
            raise RuntimeError(f"the process of {self.name} has ended")
        return json.loads(line, object_hook=_array)


class _Pickler(pickle.Pickler):
    view: object = None

    def reducer_override(self, value: Sent) -> Sent:
        """Pickle view and inbox as stand-ins; raise ``TypeError`` for an env."""
        if isinstance(value, hb.Env):
            raise TypeError("an env cannot be sent to another process")
        if value is self.view:
            return _remote, ("view", type(value))
        return (_remote, ("inbox", object)) if isinstance(value, hb.Inbox) else NotImplemented


@cache
def _process(agent: tuple[str, ...], source: str, folder: str) -> Sent:
    """Start the process of an agent, which ends with this process."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", "from hushbench.isolated import serve; serve()"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)
    atexit.register(process.kill)
    return process


def _array(value: dict[str, Sent]) -> Sent:
    if value.keys() != {""}:
        return value
    dtype, shape, data = value[""]
    return np.frombuffer(bytes.fromhex(data), dtype).reshape(shape)


# -- in the agent's process -------------------------------------------------------------------------------------------


class _Remote:
    """Stand-in for a view or an inbox, which asks the other process for attributes and results of methods."""

    def __init__(self, what: str):
        self._what = what

    def _read(self, name: str, given: object = None) -> Sent:
        _say("ask", self._what, name, given)
        error, found = pickle.load(_PIPE[0])
        if error:
            raise getattr(builtins, error, RuntimeError)(found)
        return found

    def __getattr__(self, name: str) -> Sent:
        if name in _NOW or name.startswith("_"):
            return _NOW[name] if name in _NOW else object.__getattribute__(self, name)
        found = self._read(name)
        return found if found is not ... else lambda *given, **named: self._read(name, (given, named))

    def __getitem__(self, field: str) -> Sent:
        return self._read("__getitem__", ((field,), {}))

    agents_speak = property(lambda self: self._read("agents_speak"))


#: Ends of the pipe to the other process, and what the view shows in this phase.
_PIPE: list[Sent] = []
_NOW: dict[str, Sent] = {}


@cache
def _remote(what: str, base: type) -> _Remote:
    """Return the stand-in for `what`, as an instance of a subclass of `base`."""
    return type(what, (_Remote, base), {})(what)


def _say(*reply: object) -> None:
    print(json.dumps(reply, default=_plain), file=_PIPE[1], flush=True)


def _plain(value: Sent) -> object:
    """Return requirements, a field or an array in a form that JSON can encode."""
    if isinstance(value, hb.Requirements):
        return value.env, value.wrappers
    if isinstance(value, hb.Field):
        return value.shape, value.dtype, value.latest, value.low, value.high, value.per_arm
    array = np.asarray(value)
    return {"": (array.dtype.str, array.shape, array.tobytes().hex())}


def serve() -> None:
    """Call the team methods that stdin requests, and answer on stdout; an agent's own output goes to stderr."""
    _PIPE[:] = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    teams: dict[int, hb.Team] = {}
    with contextlib.suppress(EOFError):
        while True:
            number, hook, given, now = pickle.load(_PIPE[0])
            try:
                _NOW.clear()
                _NOW.update(now)
                if hook == "make":
                    team = teams[number] = hb.make_team(given[0], **given[1])
                    _say("done", {name: getattr(team, name) for name in DECLARED})
                else:
                    _say("done", getattr(teams[number], hook)(*given))
            except (Exception, SystemExit) as error:
                kinds = (cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")
                _say("raised", next(kinds), str(error))
