"""``python -m fairask`` is the ``fairask`` command."""

from fairask.cli import main

if __name__ == "__main__":
    main()
