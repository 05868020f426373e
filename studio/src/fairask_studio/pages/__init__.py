"""The studio: web pages for annotators and owners. ``fairask studio STUDY``."""

from fairask_studio.pages.app import create_app
from fairask_studio.pages.home import create_home
from fairask_studio.pages.server import serve

__all__ = [
    "create_app",
    "create_home",
    "serve",
]
