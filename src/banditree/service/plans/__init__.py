"""Plans on record: how they come in, are signed, replaced, and split between new cases."""
