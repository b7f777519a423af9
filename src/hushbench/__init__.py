"""HushBench: fixed tasks, scores, verifiable submissions, and a leaderboard."""
