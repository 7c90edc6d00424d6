"""Every load and save: atomic, versioned, with a JSON Schema."""
