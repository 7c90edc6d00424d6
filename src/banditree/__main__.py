"""`python -m banditree`."""

from banditree.cli import main

main()
