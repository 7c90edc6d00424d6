"""Long work: what is asked for, which worker does it, within which limits, and the files it works on."""
