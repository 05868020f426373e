"""fairask-studio: studies in which people label the rows that fairask chooses."""

__version__ = "0.2.0"
