"""Commands: argument parsing, progress bars and printing, no logic."""

from banditree.cli.app import main

__all__ = ["main"]
