"""The web pages: what the API does, for a person with a browser. Nothing here decides anything."""
