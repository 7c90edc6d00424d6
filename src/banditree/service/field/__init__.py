"""Plans in the field: what they promised against what is observed, relearning, comparing, alarms."""
