"""The studio: web pages for annotators and owners. ``fairask studio STUDY``."""

try:
    from fairask.studio._app import create_app
    from fairask.studio._demo import demo_study
    from fairask.studio._robot import Robot
    from fairask.studio._shelf import shelf_of
    from fairask.studio._trainer import Trainer
    from fairask.studio._trainer_process import TrainerProcess
    from fairask.studio.connecting import keep_in_step, step_once
    from fairask.studio.server import serve
except ModuleNotFoundError as error:  # pragma: no cover - depends on the installation
    message = f"the studio needs {error.name}: pip install 'fairask[studio]'"
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
