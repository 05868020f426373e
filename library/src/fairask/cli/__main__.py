"""``python -m fairask.cli``."""

from fairask.cli import main

main()
