"""What the commands put together from the rooms below."""
