"""The settings: words of the study, limits, rows whose answer is known, files to download."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from fairask_studio import Study, StudyError
from fairask_studio.columns import DISPLAYS
from fairask_studio.config import LONGEST_REASON
from fairask_studio.events import Document
from fairask_studio.exports import contents
from fairask_studio.files import read_known
from fairask_studio.gold import USES, KnownRow
from fairask_studio.pages.access import Me, access_of
from fairask_studio.pages.api import Row, RowNumber, Strict, Text, file_of, study_of
from fairask_studio.pages.desk import desk_of

router = APIRouter(tags=["owning"])


class ColumnWords(Strict):
    """How a column is shown."""

    title: Annotated[Text, Field(max_length=120)] = ""
    unit: Annotated[Text, Field(max_length=40)] = ""
    values: dict[Annotated[Text, Field(max_length=200)], Annotated[Text, Field(max_length=200)]] = Field(
        default_factory=dict
    )
    display: Annotated[str, Field(pattern=f"^({'|'.join(DISPLAYS)})?$")] = ""


class Settings(Strict):
    """Words of the study, and limits on each person, that may change."""

    question: Annotated[Text, Field(min_length=1, max_length=500)] | None = None
    columns: dict[Annotated[Text, Field(max_length=500)], ColumnWords] = Field(default_factory=dict)
    guidelines: Annotated[Text, Field(max_length=50_000)] | None = None
    skip_reasons: list[Annotated[Text, Field(max_length=LONGEST_REASON)]] | None = None
    most_skips: Row | None = None
    most_per_minute: Row | None = None
    gold_every: Row | None = None
    gold_least: Row | None = None
    budget: Row | None = None


class NewKnown(Strict):
    """The known answer of a row, what it is for, and why it is right."""

    label: Annotated[Text, Field(max_length=60)]
    use: Annotated[str, Field(pattern=f"^({'|'.join(USES)})$")] = "gold"
    why: Annotated[Text, Field(max_length=2000)] = ""


class Known(BaseModel):
    """A row whose answer is known."""

    row: int
    label: str
    use: str
    why: str


@router.get("/known")
def all_known(request: Request, me: Me) -> list[Known]:
    """Return the rows whose answer is known."""
    study = study_of(request)
    with study.lock:
        found = list(study.state().known.rows.values())
    return [Known.model_validate(known_dict(study, one)) for one in found]


@router.put("/known/{row}")
def mark(request: Request, row: RowNumber, new: NewKnown, me: Me) -> Known:
    """Mark a row with its answer, or change the mark; it is no label."""
    study = study_of(request)
    study.config.check_row(row)
    known = KnownRow(row, study.config.class_code(new.label, row), new.use, new.why.strip())
    study.mark_known([known], me.name)
    return Known.model_validate(known_dict(study, known))


@router.delete("/known/{row}")
def unmark(request: Request, row: RowNumber, me: Me) -> Document:
    """Take the mark of a row away; answers to it stay in the log."""
    study_of(request).unmark_known([row], me.name)
    return {"row": row}


@router.post("/known", status_code=201)
async def bring_in(
    request: Request,
    me: Me,
    name: Annotated[str, Query(min_length=1, max_length=200, pattern=r"^[^/\\\x00]+\.(csv|parquet)$")],
    unchecked: bool = False,
) -> Document:
    """Mark the rows of a file in the body (CSV, Parquet) with the answers in its column gold: all or none."""
    return await run_in_threadpool(_import, study_of(request), name, await request.body(), me.name, unchecked)


def _import(study: Study, name: str, data: bytes, who: str, unchecked: bool) -> Document:
    with file_of(name, data) as path:
        rows = read_known(study, path, unchecked=unchecked)
    return {"marked": len(rows), "known": study.mark_known(rows, who)}


def known_dict(study: Study, known: KnownRow) -> Document:
    """Return a known row in plain values, its answer by name."""
    label = study.config.classes[known.label]
    return {"row": known.row, "label": label, "use": known.use, "why": known.why}


FILES = {
    "labels.csv": "text/csv; charset=utf-8",
    "labels.parquet": "application/octet-stream",
    "labels-label-studio.json": "application/json",
    "events.jsonl": "application/jsonl",
    "study.json": "application/json",
    "report.html": "text/html; charset=utf-8",
    "model.skops": "application/zip",
    "model-card.html": "text/html; charset=utf-8",
    "certificate.html": "text/html; charset=utf-8",
    "certificate.json": "application/json",
}


@router.put("/settings")
def settings(request: Request, words: Settings, me: Me) -> Document:
    """Change the question, the column dictionary or the limits on each person."""
    study = study_of(request)
    columns = {name: word.model_dump(exclude_unset=True) for name, word in words.columns.items()}
    study.change(**words.model_dump(exclude={"columns"}), columns=columns or None, who=me.name)
    return {"question": study.config.question}


@router.get("/settings")
def get_settings(request: Request, me: Me) -> Document:
    """The study's settings."""
    return study_of(request).config.to_dict()


@router.get(
    "/export/{name}",
    response_class=Response,
    responses={200: {"content": {kind.partition(";")[0]: {} for kind in FILES.values()}}},
)
def download(request: Request, name: str, me: Me) -> Response:
    """Return a file of the study: labels, events, settings, the report or the model."""
    if name not in FILES:
        raise HTTPException(404, f"no file of that name; known: {', '.join(FILES)}")
    data = desk_of(request).do(file_bytes, name)
    access_of(request).log.note(me.name, "took the file", name, request)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(data, media_type=FILES[name], headers=headers)


def file_bytes(study: Study, name: str) -> bytes:
    """Return a file of the study."""
    found = contents(study)
    if name not in found:
        raise StudyError(f"there is no {name} yet")
    return found[name]()
