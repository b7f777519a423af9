"""HushBench: a fixed set of tasks, scores, submissions that anybody can check, and their leaderboard."""
