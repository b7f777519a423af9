"""``python -m hushbandits``."""

import sys

from hushbandits.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
