"""Where collections come from: simulators, and logs of what was tried and what happened."""
