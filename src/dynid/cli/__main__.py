"""`python -m dynid.cli`."""

from dynid.cli import main

main()
