"""What was seen: one table of cases, one reader on any engine, one description of bad rows."""
