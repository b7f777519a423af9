"""Entry point of ``python -m hushbandits``, the command line."""

import signal
import sys

from hushbandits.cli.main import main

if __name__ == "__main__":
    code = main()
    if code == 130:  # already stopped: another Ctrl-C while Python ends would change the exit code
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)
