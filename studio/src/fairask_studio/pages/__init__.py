"""The studio: web pages for annotators and owners. ``fairask studio STUDY``."""

from fairask_studio.pages.app import create_app

__all__ = [
    "create_app",
]
