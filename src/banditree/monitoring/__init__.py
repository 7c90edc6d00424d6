"""What a plan promised against what is observed: of its cases in the field, over time, with tests that may be looked at
every day."""
