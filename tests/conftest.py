"""Shared settings of the tests."""

import sys
from pathlib import Path

from hypothesis import settings

# Test modules share a few readers and loops that live beside them.
sys.path.insert(0, str(Path(__file__).parent))

# The same examples on every machine: a failure here is a failure everywhere.
settings.register_profile("steady", derandomize=True, deadline=None, database=None)
settings.load_profile("steady")
