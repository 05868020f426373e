"""What people see when something goes wrong: two lines, and an exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

from fairask.errors import UserError

__all__ = ["FAILED", "INTERRUPTED", "WRONG_USE", "WrongUse", "guarded"]

FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130

#: Which extra brings a module.
EXTRAS = {
    "typer": "cli",
    "rich": "cli",
    "jinja2": "cli",
    "markupsafe": "cli",
    "pyarrow": "cli",
    "matplotlib": "cli",
    "pooch": "bench",
    "requests": "bench",
    "tqdm": "bench",
    **dict.fromkeys(("sqlalchemy", "alembic", "fastapi", "uvicorn", "plotly", "skops"), "studio"),
    "psycopg": "postgres",
    "dask": "dask",
    "ray": "ray",
    "torch": "panda",
}


class WrongUse(ValueError):
    """What was given cannot be used. ``what`` is wrong with it, and ``todo`` puts it right."""

    def __init__(self, what: str, todo: str) -> None:
        super().__init__(f"{what}\n{todo}")
        self.what, self.todo = what, todo


def guarded(call: Callable[[], Any], *, debug: bool) -> int:
    """Run ``call`` and return an exit code; problems become two lines on standard error.

    Examples
    --------
    >>> guarded(lambda: None, debug=False)
    0
    """
    try:
        result = call()
    except KeyboardInterrupt:
        result = INTERRUPTED
    except BaseException as error:
        # typer carries its own copy of click, or click itself: its errors are known by what they can do.
        if isinstance(error, SystemExit):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error)
            return 0
        if debug:
            traceback.print_exc()
            return _code(error)
        if type(error).__name__ != "Abort":
            what, todo = _words(error)
            print(f"error: {what}\n{todo}", file=sys.stderr)
            return _code(error)
        result = INTERRUPTED
    # typer turns Ctrl-C into this code, click into Abort.
    if result == INTERRUPTED:
        print("interrupted: nothing was written", file=sys.stderr)
    return result if isinstance(result, int) else 0


def _code(error: BaseException) -> int:
    given = getattr(error, "exit_code", None)
    if isinstance(given, int):
        return given
    return WRONG_USE if isinstance(error, UserError) or hasattr(error, "todo") else FAILED


def _words(error: BaseException) -> tuple[str, str]:
    if isinstance(error, UserError):
        return _one_line(error.what), _one_line(error.remedy)
    if hasattr(error, "todo") and hasattr(error, "what"):
        return _one_line(error.what), _one_line(error.todo)
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "fairask"
        return _one_line(error.format_message()), f"See {path} --help"
    if isinstance(error, ModuleNotFoundError) and (extra := EXTRAS.get((error.name or "").partition(".")[0])):
        return f"this command needs {error.name}, which is not installed", f"pip install 'fairask[{extra}]'"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}", "Check that the path exists and can be read or written"
    return (
        f"{type(error).__name__}: {_one_line(str(error))}",
        "This should not happen: run it again with --debug for the details",
    )


def _one_line(text: object) -> str:
    return " ".join(str(text).split())
