"""Pictures: what they show as pure data (`*_info`), and their drawing."""
