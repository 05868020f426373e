"""What people see when something goes wrong: two lines, and an exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

from fairask.errors import UserError

FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130

#: Which extra of the library, or which other package, brings a module.
EXTRAS = {
    **dict.fromkeys(
        ("typer", "rich", "jinja2", "markupsafe", "pyarrow", "matplotlib", "cryptography"), "cli"
    ),
    **dict.fromkeys(("pooch", "requests", "tqdm"), "bench"),
    **dict.fromkeys(("sqlalchemy", "alembic", "fastapi", "uvicorn", "skops", "segno"), "fairask-studio"),
    "psycopg": "fairask-studio[postgres]",
    "label_studio_sdk": "fairask-studio[labelstudio]",
    "torch": "panda",
    "openpyxl": "excel",
    "duckdb": "duckdb",
    "ibis": "ibis",
    "fairlearn": "fairlearn",
    **dict.fromkeys(("model2vec", "sentence_transformers"), "text"),
}


def guarded(call: Callable[[], object], *, debug: bool) -> int:
    """Run ``call`` and return an exit code; problems become two lines on standard error.

    >>> guarded(lambda: None, debug=False)
    0
    """
    try:
        result = call()
    except KeyboardInterrupt:
        result = INTERRUPTED
    except Exception as error:
        said = _usage(error)
        if said is not None and said.code == 0:
            print(error)  # the help text
            return 0
        if said is not None and said.code == INTERRUPTED and not debug:
            result = INTERRUPTED
        else:
            said = said or _words(error)
            if debug:
                traceback.print_exc()
            else:
                print(f"error: {_one_line(said.what)}\n{_one_line(said.remedy)}", file=sys.stderr)
            return said.code
    # typer turns Ctrl-C into this code, click into Abort.
    if result == INTERRUPTED:
        print("interrupted: nothing was written", file=sys.stderr)
    return result if isinstance(result, int) else 0


@dataclass(frozen=True)
class _Said:
    code: int
    what: str = ""
    remedy: str = ""


class _UsageError(Protocol):
    """What typer's copy of click, or click itself, raises for a wrong command line."""

    exit_code: int

    def format_message(self) -> str: ...


def _usage(error: Exception) -> _Said | None:
    """What typer has to say about a wrong command line; None for other errors."""
    try:
        import typer
    except ImportError:
        return None
    if isinstance(error, typer.Abort):
        return _Said(INTERRUPTED)
    # typer exports BadParameter only, a UsageError, which is a ClickException.
    usage, base = typer.BadParameter.__mro__[1:3]
    if not isinstance(error, base):
        return None
    if type(error).__name__ == "NoArgsIsHelpError":
        return _Said(0)
    wrong = cast(_UsageError, error)
    context = vars(error).get("ctx") if isinstance(error, usage) else None
    path = "fairask" if context is None else context.command_path
    return _Said(wrong.exit_code, wrong.format_message(), f"See {path} --help")


def _words(error: Exception) -> _Said:
    if isinstance(error, UserError):
        return _Said(WRONG_USE, error.what, error.remedy)
    if isinstance(error, ModuleNotFoundError) and (extra := EXTRAS.get((error.name or "").partition(".")[0])):
        what = f"this command needs {error.name}, which is not installed"
        package = extra if extra.startswith("fairask-studio") else f"fairask[{extra}]"
        return _Said(FAILED, what, f"pip install '{package}'")
    if isinstance(error, OSError) and error.filename is not None:
        remedy = "Check that the path exists and can be read or written"
        return _Said(FAILED, f"{error.filename}: {error.strerror}", remedy)
    if isinstance(error, OSError) and error.strerror is not None:  # a write that found no room, say
        return _Said(FAILED, error.strerror, "Nothing is half-written; mend that, and run the same again")
    if type(error).__name__ in ("OperationalError", "InterfaceError", "InvalidatePoolError"):  # a study's
        why = getattr(error, "orig", None) or error
        return _Said(
            FAILED, f"the database cannot be used: {why}", "What was acknowledged is kept; run it again"
        )
    what = f"{type(error).__name__}: {error}"
    return _Said(FAILED, what, "This should not happen: run it again with --debug for the details")


def _one_line(text: str) -> str:
    return " ".join(text.split())
