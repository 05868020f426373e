"""The studio: web pages for annotators and owners. ``fairask studio STUDY``."""

from fairask_studio.pages.app import create_app
from fairask_studio.pages.demo import Robot, demo_study
from fairask_studio.pages.home import create_home
from fairask_studio.pages.server import serve
from fairask_studio.pages.shelf import shelf_of
from fairask_studio.pages.worker import Trainer, TrainerProcess

__all__ = [
    "Robot",
    "Trainer",
    "TrainerProcess",
    "create_app",
    "create_home",
    "demo_study",
    "serve",
    "shelf_of",
]
