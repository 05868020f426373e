"""What the commands on a study share."""

from __future__ import annotations

import getpass
import re
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.errors import UserError

if TYPE_CHECKING:
    from fairask_studio import Study
    from fairask_studio.events import Document


def without_password(place: str | None) -> str | None:
    """Return the place of a study; refuse a URL with a password, which every user of the machine can see.

    Examples
    --------
    >>> without_password("postgresql://ada@host/loans")
    'postgresql://ada@host/loans'
    """
    if place is not None and re.match(r"[\w+]+://([^/@]*:[^/@]*@|.*[?&](ssl)?password=)", place):
        raise UserError(
            "the URL holds a password, and everybody on this machine can read the command line",
            "Leave it out of the URL: set PGPASSWORD or write it into ~/.pgpass",
        )
    return place


StudyPlace = Annotated[
    str,
    typer.Argument(
        help="The study: a folder, or a postgresql:// URL without a password.",
        metavar="STUDY",
        callback=without_password,
    ),
]
NewPlace = Annotated[
    str,
    typer.Option("--to", help="A new folder, or the URL of an empty database.", callback=without_password),
]
Who = Annotated[str | None, typer.Option("--as", help="Who labels; default your login name.")]


def open_study(target: str) -> Study:
    """Open a study; imports what is heavy only now."""
    from fairask_studio import Study

    return Study.open(target)


def refit_after(study: Study, *, force: bool) -> Document | None:
    """Fit after labels were written; when that fails, say that they are kept."""
    from fairask_studio import StudyError

    try:
        return study.refit(force=force)
    except Exception as error:
        raise StudyError(
            f"labels are saved, the fit failed: {error}",
            "Nothing needs to be told again. The next tell, or fairask study fit, tries once more",
        ) from error


def fitted_news(study: Study, fitted: Document | None) -> tuple[Document, list[str]]:
    """Return what is new after a fit, as data and in lines: the model, and whether its labels suffice."""
    from fairask.report.words import safety_sentence

    if fitted is None:
        return {"fitted": None, "safety": None}, []
    said = safety_sentence(fitted, study.config.learner.tolerance, study.config.rows, in_points=True)
    lines = [f"Model of round {fitted['round']} fitted on {fitted['labels']} labels"]
    return {"fitted": fitted, "safety": said}, [*lines, said] if said else lines


def me(who: str | None) -> str:
    """Return the name that was given, or the login name."""
    return who or getpass.getuser()
