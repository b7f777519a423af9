"""What one agent votes by in exploration: elimination, racing and best-arm identification."""
