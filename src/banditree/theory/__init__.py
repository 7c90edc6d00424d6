"""One function per definition or theorem of the paper."""
