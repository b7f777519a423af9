"""Entry point of ``python -m hushbandits.cli``."""

import sys

from hushbandits.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
