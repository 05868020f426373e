"""The page that makes a study: a table is read, what to expect of it is found out, the study is made."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from fairask.errors import UserError
from fairask.experiment.table import pool_size
from fairask.pools.sample import SAMPLE
from fairask.report.words import EMBED, images_sentence, missing_sentence, sampled_sentence
from fairask.tables.arrow import kind_of
from fairask.tables.groups import MOST_GROUPS
from fairask_studio import Study, StudyError
from fairask_studio.columns import DISPLAYS, guess_displays
from fairask_studio.events import Document
from fairask_studio.pages.access import Me
from fairask_studio.pages.api import Strict
from fairask_studio.pages.images import image_kind
from fairask_studio.pages.sent import SentFiles
from fairask_studio.pages.shelf import Shelf
from fairask_studio.pool import KEY

api = APIRouter(prefix="/api", tags=["home"])
_Name = Annotated[str, Field(min_length=1, max_length=60)]


class NewStudy(Strict):
    """A study to make of a table that was sent."""

    table: str
    name: _Name
    question: Annotated[str, Field(min_length=1, max_length=500)]
    classes: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=60)]], Field(min_length=2, max_length=2)
    ]
    protected: Annotated[list[str], Field(min_length=1, max_length=5)]
    displays: dict[str, Annotated[str, Field(pattern=f"^({'|'.join(DISPLAYS)})$")]] = Field(
        default_factory=dict
    )
    drop: list[str] = Field(default_factory=list)
    keep: list[str] = Field(default_factory=list)
    missing_groups: Literal["drop", "own"] | None = None
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.1
    budget: Annotated[int, Field(ge=1)] = 250
    batch_size: Annotated[int, Field(ge=1, le=1000)] = 25
    overlap: Annotated[int, Field(ge=1, le=10)] = 1


class KnownLabels(Strict):
    """Which column of a table holds labels, and what the study would be like."""

    label: str
    positive: Annotated[str, Field(min_length=1, max_length=60)]
    protected: Annotated[list[str], Field(min_length=1, max_length=5)]
    drop: list[str] = Field(default_factory=list)
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.1
    budget: Annotated[int, Field(ge=1)] = 250


#: Rows of a table that are shown before a study is made of it, and different values that are named.
_PREVIEW, _VALUES = 3, 12

#: Tables that are kept; a table may be large.
_MOST = 4


@dataclass(frozen=True)
class Uploaded:
    """A table that was sent to make a study of."""

    id: str
    table: pa.Table
    notes: list[str]
    files: SentFiles

    def described(self) -> Document:
        """Return rows, columns with how they would be shown, and some rows."""
        displays, rows = guess_displays(self.table), self.table.num_rows
        images = [name for name in self.table.column_names if displays[name] == "image"]
        sampled = [sampled_sentence(SAMPLE, rows, KEY)] if rows > SAMPLE else []
        return {
            "id": self.id,
            "rows": rows,
            "notes": [*self.notes, *sampled, *self._of_images(images)],
            "columns": [self._column(name, displays[name]) for name in self.table.column_names],
            "preview": [
                {name: "" if value is None else str(value)[:20_000] for name, value in row.items()}
                for row in self.table.slice(0, _PREVIEW).to_pylist()
            ],
        }

    def image_cells(self) -> list[str]:
        """Return the names of images that the table has."""
        displays = guess_displays(self.table)
        columns = [self.table.column(name) for name in self.table.column_names if displays[name] == "image"]
        return [str(value) for column in columns for value in column.to_pylist() if value]

    def _of_images(self, images: list[str]) -> list[str]:
        if not images:
            return []
        said = []
        if len(self.files):
            missing = self.files.missing(self.image_cells())
            said.append(f"{len(self.files):,} images." if not missing else missing_sentence(missing))
        if any(kind_of(field.type) == "vector" for field in self.table.schema):
            return said
        return [*said, f"{images_sentence(images)} {EMBED}"]

    def _column(self, name: str, display: str) -> Document:
        values = self.table.column(name)
        if kind_of(values.type) == "vector":
            display = "none"  # for the model only
        plain = kind_of(values.type) not in (None, "vector")
        different = values.unique().drop_null() if plain else pa.chunked_array([pa.array([], pa.string())])
        few = 0 < len(different) <= _VALUES
        return {
            "name": name,
            "display": display,
            "different": len(different),
            "values": sorted(str(value) for value in different.to_pylist()) if few else [],
            "known": values.length() - values.null_count if plain else 0,
            "can_group": 2 <= len(different) <= MOST_GROUPS,
        }


class Uploads:
    """The last tables that were sent, in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, Uploaded] = {}

    def take(self, name: str, data: bytes) -> Uploaded:
        """Read a table that was sent; UserError in words if it cannot be read."""
        files = SentFiles()
        try:
            files.take(name, data)
            table, notes = files.read()
        except ValueError as error:
            if isinstance(error, UserError):
                raise
            raise StudyError(f"{name} cannot be read: {error}") from error
        found = Uploaded(secrets.token_hex(8), table, list(notes), files)
        with self._lock:
            while len(self._kept) >= _MOST:
                self._kept.pop(next(iter(self._kept)))
            self._kept[found.id] = found
        return found

    def add(self, number: str, name: str, data: bytes) -> None:
        """Take a file that belongs to a table: an image, or an .npy file."""
        found = self.get(number)
        found.files.add(name, data)
        if name.lower().endswith(".npy"):
            table, notes = found.files.read()
            with self._lock:
                self._kept[number] = replace(found, table=table, notes=notes)

    def get(self, number: str) -> Uploaded:
        """Return a table that was sent before."""
        with self._lock:
            found = self._kept.get(number)
        if found is None:
            raise StudyError("the table is not here any more", "Choose the file again")
        return found


#: Fewer labelled rows say too little.
FEWEST = 80

_TRIALS, _SECONDS = 3, 600.0

_POLITELY = ("nice", "-n", "10") if shutil.which("nice") else ()


@dataclass(frozen=True)
class Forecast:
    """The question: which column holds labels, and what the study would be like."""

    label: str
    positive: str
    protected: tuple[str, ...]
    drop: tuple[str, ...]
    tolerance: float
    budget: int

    def labelled(self, table: pa.Table) -> pa.Table:
        """Return the rows that have a label; StudyError in words if they are too few or of one kind."""
        for name in (self.label, *self.protected, *self.drop):
            if name not in table.column_names:
                raise StudyError(f"no column {name!r}")
        values = pc.cast(table.column(self.label), pa.string())
        known = pc.and_(pc.is_valid(values), pc.not_equal(values, ""))
        rows = table.filter(pc.fill_null(known, False))
        if rows.num_rows < FEWEST:
            raise StudyError(f"{rows.num_rows} labelled rows say too little: {FEWEST} are needed")
        if self.positive not in pc.unique(values).to_pylist():
            raise StudyError(f"no row of {self.label!r} is {self.positive!r}")
        return rows

    def command(self, file: Path, rows: int) -> list[str]:
        """Return the command that answers it."""
        budget = max(10, min(self.budget, pool_size(rows) // 2))
        given = [
            *("--label", self.label, "--positive", self.positive),
            *(word for name in self.protected for word in ("--protected", name)),
            *(word for name in self.drop for word in ("--drop", name)),
            *("--tolerance", str(self.tolerance), "--budget", str(budget), "--trials", str(_TRIALS)),
            *("--strategy", "fare", "--jobs", "1", "--json"),
        ]
        return [sys.executable, "-m", "fairask", "simulate", str(file), *given]


class Forecasts:
    """Runs one forecast at a time, and keeps what the last one found."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self._number, self._said = 0, Document()

    def start(self, table: pa.Table, wanted: Forecast) -> None:
        """Begin; the forecast before, if it still runs, is ended."""
        rows = wanted.labelled(table)
        self.stop()
        with self._lock:
            self._number += 1
            self._said = {"state": "running", "rows": rows.num_rows, "words": ""}
            number = self._number
        self._thread = threading.Thread(target=self._run, args=(number, rows, wanted), daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until what runs has ended."""
        if self._thread is not None:
            self._thread.join()

    def said(self) -> Document:
        """Return the state ("none", "running", "done" or "failed") and what was found, in words."""
        with self._lock:
            return dict(self._said or {"state": "none", "rows": 0, "words": ""})

    def stop(self) -> None:
        """End what runs."""
        with self._lock:
            self._number += 1
            if self._process is not None:
                self._process.kill()

    def _run(self, number: int, rows: pa.Table, wanted: Forecast) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "table.parquet"
            pq.write_table(rows, file)
            with self._lock:
                if number != self._number:
                    return
                process = self._process = subprocess.Popen(
                    [*_POLITELY, *wanted.command(file, rows.num_rows)],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
                    env={**os.environ, "OMP_NUM_THREADS": "1"},
                )  # fmt: skip
            try:
                out, error = process.communicate(timeout=_SECONDS)
                said = _words(out) if process.returncode == 0 else {"state": "failed", "words": _last(error)}
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                said = {"state": "failed", "words": f"It took longer than {_SECONDS / 60:.0f} minutes."}
        with self._lock:
            if number == self._number:
                self._process, self._said = None, {"rows": rows.num_rows, **said}


def _words(out: str) -> Document:
    found = json.loads(out)
    return {"state": "done", "words": f"{found['verdict']} {found['headline']}"}


def _last(error: str) -> str:
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    return lines[0].removeprefix("Error: ") if lines else "fairask simulate gave no reason."


def shelf_of_app(request: Request) -> Shelf:
    """Return the studies of the app."""
    shelf: Shelf = request.app.state.studies.shelf
    return shelf


def _uploads(request: Request) -> Uploads:
    uploads: Uploads = request.app.state.uploads
    return uploads


def _forecasts(request: Request) -> Forecasts:
    forecasts: Forecasts = request.app.state.forecasts
    return forecasts


@api.post("/tables", status_code=201)
async def table(
    request: Request,
    me: Me,
    name: Annotated[str, Query(min_length=1, max_length=200, pattern=r"^[^/\\\x00]+$")],
) -> Document:
    """Read a table (CSV, TSV, Parquet, Excel, ...) and describe its columns, to make a study of it."""
    found = await run_in_threadpool(_uploads(request).take, name, await request.body())
    return await run_in_threadpool(found.described)


@api.get("/tables/{table}")
def described(request: Request, table: str, me: Me) -> Document:
    """Describe a table again, with the files that came after it."""
    return _uploads(request).get(table).described()


@api.put("/tables/{table}/files")
async def add_file(
    request: Request,
    table: str,
    me: Me,
    name: Annotated[str, Query(min_length=1, max_length=500, pattern=r"^[^\\\x00]+$")],
) -> Document:
    """Add a file to a table: an image that it names, or an .npy file with a row for each of its rows."""
    await run_in_threadpool(_uploads(request).add, table, name, await request.body())
    return {"name": name}


@api.get("/tables/{table}/image", response_class=Response, responses={200: {"content": {"image/*": {}}}})
def sent_image(
    request: Request, table: str, me: Me, name: Annotated[str, Query(min_length=1, max_length=500)]
) -> Response:
    """Return an image that was sent, for the preview of a card."""
    found = _uploads(request).get(table).files.find(name)
    if found is None:
        raise HTTPException(404, f"no image {name[:80]!r} was sent")
    data = found.read_bytes()
    return Response(data, media_type=image_kind(data))


@api.post("/tables/{table}/forecast", status_code=201)
def begin_forecast(request: Request, table: str, wanted: KnownLabels, me: Me) -> Document:
    """Begin to find out, in the background, what to expect of a study where some labels are known."""
    question = Forecast(
        wanted.label,
        wanted.positive,
        tuple(wanted.protected),
        tuple(wanted.drop),
        wanted.tolerance,
        wanted.budget,
    )
    forecasts = _forecasts(request)
    forecasts.start(_uploads(request).get(table).table, question)
    return forecasts.said()


@api.get("/tables/{table}/forecast")
def forecast(request: Request, table: str, me: Me) -> Document:
    """Return what the last forecast found, in words, or that it is still at work."""
    _uploads(request).get(table)
    return _forecasts(request).said()


@api.post("/studies", status_code=201)
def make(request: Request, new: NewStudy, me: Me) -> Document:
    """Make a study of a table that was sent."""
    found = _uploads(request).get(new.table)
    for name in new.displays:
        if name not in found.table.column_names:
            raise StudyError(f"no column {name!r}")
    with (
        shelf_of_app(request).making(new.name) as target,
        Study.create(
            target,
            found.table,
            protected=new.protected,
            who=me.name,
            hide=new.drop,
            keep=new.keep,
            missing_groups=new.missing_groups,
            question=new.question,
            classes=tuple(new.classes),
            tolerance=new.tolerance,
            budget=min(new.budget, found.table.num_rows, SAMPLE),
            batch_size=new.batch_size,
            overlap=new.overlap,
        ) as study,
    ):
        found.files.copy_to(target, found.image_cells())
        columns = {name: {"display": display} for name, display in new.displays.items()}
        if columns:
            study.change(columns=columns, who=me.name)
    return {"name": new.name}
