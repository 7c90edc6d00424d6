"""The practical plans: a few lines that keep a score, found by search."""
