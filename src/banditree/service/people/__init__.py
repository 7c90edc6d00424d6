"""People: who sends a request, with which role, how they log in, and what they read."""
