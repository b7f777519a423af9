"""Child processes that receive ctrl-C, and end with the test that starts them."""

import os
import signal
import subprocess
from contextlib import contextmanager, suppress


@contextmanager
def hears_ctrl_c():
    """A shell starts background processes with SIGINT ignored, and children inherit that.

    A handler of ours they do not inherit: they begin with the default.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def started(command, **kwargs):
    """Start a child in its own process group; the whole group is killed at the end."""
    with subprocess.Popen(command, start_new_session=True, **kwargs) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
