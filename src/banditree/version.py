"""The version, on its own so that every room can say it."""

__version__ = "0.1.0"
