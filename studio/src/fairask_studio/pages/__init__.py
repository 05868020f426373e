"""The studio: web pages for annotators and owners. ``fairask studio STUDY``."""

try:
    from fairask_studio.pages._app import create_app
    from fairask_studio.pages._demo import demo_study
    from fairask_studio.pages._robot import Robot
    from fairask_studio.pages._shelf import shelf_of
    from fairask_studio.pages._trainer import Trainer
    from fairask_studio.pages._trainer_process import TrainerProcess
    from fairask_studio.pages.connecting import keep_in_step, step_once
    from fairask_studio.pages.server import serve
except ModuleNotFoundError as error:  # pragma: no cover - depends on the installation
    message = f"the studio needs {error.name}: pip install 'fairask-studio'"
    raise ModuleNotFoundError(message, name=error.name) from error

__all__ = [
    "Robot",
    "Trainer",
    "TrainerProcess",
    "create_app",
    "demo_study",
    "keep_in_step",
    "serve",
    "shelf_of",
    "step_once",
]
