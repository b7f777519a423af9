"""The round contract: two beats on arrays, tapes, messages, wrappers, teams."""
