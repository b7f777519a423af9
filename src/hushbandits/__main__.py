"""Entry point of ``python -m hushbandits``, the command line."""

import sys

from hushbandits.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
