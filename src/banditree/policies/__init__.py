"""How a test task is played: policies in one source, and sessions that ask and tell over any of them."""
