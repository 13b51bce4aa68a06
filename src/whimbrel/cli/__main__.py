"""``python -m whimbrel.cli`` is the ``whimbrel`` command."""

from whimbrel.cli.app import main

main()
