"""The three settings, one file each, and what they are made of."""
