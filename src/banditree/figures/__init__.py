"""Pictures: what they show as pure data, and their drawing."""
