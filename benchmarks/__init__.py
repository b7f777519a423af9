"""What the package costs, and how the numbers of its pages are made: ``python -m benchmarks --help``."""
