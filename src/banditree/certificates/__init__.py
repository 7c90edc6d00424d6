"""Exact regret, error and length of any plan, without simulation."""
