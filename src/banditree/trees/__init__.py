"""The plans of the paper: decision trees of fixed tests."""
