"""Many runs of many policies at once."""
