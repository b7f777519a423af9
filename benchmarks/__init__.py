"""Speed of the package, and the scripts behind the numbers of its pages: ``python -m benchmarks --help``."""
