"""The edge: what is checked of every connection and request, and the shapes of what is answered."""
