"""HushBench: a fixed set of tasks, scores, and a board of who reached what."""
