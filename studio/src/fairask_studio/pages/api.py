"""What the routes of all pages share: the study, the kinds of values, and why a request is refused."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import Path, Request
from pydantic import BaseModel, ConfigDict, Field

from fairask_studio import Study
from fairask_studio.events import Document

#: Rows are 32-bit numbers in the database.
Row = Annotated[int, Field(ge=0, le=2**31 - 1)]

# No NUL: PostgreSQL stores none.
Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]


class Strict(BaseModel):
    """A document without unknown fields."""

    model_config = ConfigDict(extra="forbid")


class Refusal(BaseModel):
    """Why a request was refused."""

    detail: str


RowNumber = Annotated[int, Path(ge=0, le=2**31 - 1)]


@contextmanager
def file_of(name: str, data: bytes) -> Iterator[FilePath]:
    """Write what was sent into a file of that name, for as long as it is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = FilePath(folder) / name[-60:]  # no file system takes more than 255 bytes
        path.write_bytes(data)
        yield path


def study_of(request: Request) -> Study:
    """Return the app's study."""
    study: Study = request.app.state.study
    return study


REFUSALS: dict[int | str, Document] = {
    code: {"model": Refusal, "description": words}
    for code, words in {
        400: "What was sent cannot be read.",
        401: "Nobody is signed in.",
        429: "Too many wrong tokens.",
        403: "Not for this person, or the page is out of date.",
        404: "It does not exist.",
        409: "The state of the study does not allow it.",
        413: "The body is too large.",
        422: "What was sent is not what is expected.",
        503: "The database or a process cannot be reached; try again.",
    }.items()
}
