"""The page that makes a study: a table is read, what to expect of it is found out, the study is made.

Its forms work without a script: a file is posted, then what the study is to be. A script adds what can be
seen before: the card, what the model learns from, what to expect.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from pydantic import Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from fairask.errors import UserError
from fairask.experiment.table import pool_size
from fairask.pools.sample import SAMPLE
from fairask.report.words import (
    EMBED,
    METRIC_NAMES,
    NO_PROTECTED,
    forecast_sentence,
    missing_sentence,
    no_groups_words,
    question_sentence,
    sampled_sentence,
    unseen_sentence,
)
from fairask.tables.arrow import kind_of
from fairask.tables.groups import MOST_GROUPS, protected_columns
from fairask_studio import Study, StudyError
from fairask_studio.columns import DISPLAYS, MEDIA, guess_displays, learned_columns
from fairask_studio.config import LONGEST_REASON
from fairask_studio.errors import in_sentences, on_page
from fairask_studio.events import Document
from fairask_studio.pages.access import Me, access_of, may
from fairask_studio.pages.api import Strict
from fairask_studio.pages.frame import redirect, render
from fairask_studio.pages.media import media_kind
from fairask_studio.pages.sent import SentFiles
from fairask_studio.pages.shelf import Shelf
from fairask_studio.pool import KEY
from fairask_studio.store.people import Person, Session
from fairask_studio.study import fit_columns

api = APIRouter(prefix="/api", tags=["home"])
_Name = Annotated[str, Field(min_length=1, max_length=60)]
_Columns = Annotated[list[str], Field(default_factory=list)]
_Displays = Annotated[
    dict[str, Annotated[str, Field(pattern=f"^({'|'.join(DISPLAYS)})$")]], Field(default_factory=dict)
]


class NewStudy(Strict):
    """A study to make of a table that was sent."""

    table: str
    name: _Name
    question: Annotated[str, Field(min_length=1, max_length=500)]
    classes: Annotated[list[_Name], Field(min_length=2, max_length=2)]
    protected: Annotated[list[str], Field(min_length=1, max_length=5)]
    displays: _Displays
    drop: _Columns
    keep: _Columns
    missing_groups: Literal["drop", "own"] | None = None
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.1
    budget: Annotated[int, Field(ge=1)] = 250
    batch_size: Annotated[int, Field(ge=1, le=1000)] = 25
    overlap: Annotated[int, Field(ge=1, le=10)] = 1
    metric: Annotated[str, Field(pattern=f"^({'|'.join(METRIC_NAMES)})$")] = "tprp"
    show_protected: bool = False
    guidelines: Annotated[str, Field(max_length=50_000)] = ""
    skip_reasons: list[Annotated[str, Field(min_length=1, max_length=LONGEST_REASON)]] = Field(
        default_factory=list, max_length=9
    )


class ColumnUse(Strict):
    """What the columns of a table are for."""

    protected: Annotated[list[str], Field(max_length=5)]
    drop: _Columns
    displays: _Displays


#: Fewer labelled rows say too little.
FEWEST = 80

_TRIALS, _SECONDS = 3, 600.0


class KnownLabels(Strict):
    """Which column of a table holds labels, and what the study would be like."""

    label: str
    positive: _Name
    protected: Annotated[list[str], Field(min_length=1, max_length=5)]
    drop: _Columns
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.1
    budget: Annotated[int, Field(ge=1)] = 250

    def labelled(self, table: pa.Table) -> pa.Table:
        """Return the rows that have a label; StudyError in words if they are too few or of one kind."""
        for name in (self.label, *protected_columns(self.protected, table.column_names), *self.drop):
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


#: Rows of a table that are shown before a study is made of it, and different values that are named.
_PREVIEW, _VALUES = 3, 12

#: Rows that tell what a model would learn from.
_LOOKED_AT = 5000

#: Tables that are kept; a table may be large.
_MOST = 4


@dataclass(frozen=True)
class Uploaded:
    """A table that was sent to make a study of."""

    id: str
    name: str  #: of the file
    table: pa.Table
    notes: list[str]
    files: SentFiles

    def described(self) -> Document:
        """Return rows, columns with how they would be shown, and some rows."""
        displays, rows = guess_displays(self.table), self.table.num_rows
        unseen = {name: displays[name] for name in self.table.column_names if displays[name] in MEDIA}
        sampled = [sampled_sentence(SAMPLE, rows, KEY)] if rows > SAMPLE else []
        return {
            "id": self.id,
            "rows": rows,
            "notes": [*map(on_page, self.notes), *sampled, *self._of_files(unseen)],
            "columns": [self._column(name, displays[name]) for name in self.table.column_names],
            "preview": [
                {name: "" if value is None else str(value)[:20_000] for name, value in row.items()}
                for row in self.table.slice(0, _PREVIEW).to_pylist()
            ],
        }

    def named_files(self) -> list[str]:
        """Return the names of images and recordings that the table has."""
        displays = guess_displays(self.table)
        columns = [self.table.column(name) for name in self.table.column_names if displays[name] in MEDIA]
        return [str(value) for column in columns for value in column.to_pylist() if value]

    def _of_files(self, unseen: dict[str, str]) -> list[str]:
        if not unseen:
            return []
        said = []
        if len(self.files):
            missing = self.files.missing(self.named_files())
            said.append(
                missing_sentence(missing) if missing else f"{len(self.files):,} {self.files.kinds()}."
            )
        if any(kind_of(field.type) == "vector" for field in self.table.schema):
            return said
        return [*said, f"{unseen_sentence(unseen)} {EMBED}"]

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
            "can_group": (can := 2 <= len(different) <= MOST_GROUPS),
            "can_band": kind_of(values.type) == "number" and len(different) > 2,
            "why_not": "" if can else no_groups_words(len(different), MOST_GROUPS),
        }

    def learned(self, wanted: ColumnUse) -> Document:
        """Return the columns that a model would learn from, the others with the reason, or why none is left.

        On so many rows of a large table as tell what its columns hold.
        """
        step = -(-self.table.num_rows // _LOOKED_AT)
        some = self.table.take(pa.array(range(0, self.table.num_rows, step), pa.int64()))
        words = {name: {"display": display} for name, display in wanted.displays.items()}
        try:
            grouped = protected_columns(wanted.protected, some.column_names) if wanted.protected else []
            encoder, columns = fit_columns(some, grouped, wanted.drop, words)
        except UserError as error:
            return {"learns": [], "not_learned": [], "refused": _without_option(error)}
        learns, not_learned = learned_columns(columns, encoder)
        return {"learns": learns, "not_learned": not_learned, "refused": ""}


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
        found = Uploaded(secrets.token_hex(8), Path(name).name, table, list(notes), files)
        with self._lock:
            while len(self._kept) >= _MOST:
                self._kept.pop(next(iter(self._kept)))
            self._kept[found.id] = found
        return found

    def add(self, number: str, name: str, data: bytes) -> None:
        """Take a file that belongs to a table: an image, a recording, or an .npy file."""
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


_POLITELY = ("nice", "-n", "10") if shutil.which("nice") else ()


class Forecasts:
    """Runs one forecast at a time, and keeps what the last one found."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self._number, self._said = 0, Document()

    def start(self, table: pa.Table, wanted: KnownLabels) -> None:
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

    def _run(self, number: int, rows: pa.Table, wanted: KnownLabels) -> None:
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
    method = found["methods"][0]
    curve = {name: method[name] for name in ("labels", "accuracy_by_round", "gap_by_round")}
    said = forecast_sentence(found["budget"], method["accuracy"], method["gap"], found["tolerance"])
    return {"state": "done", "words": said, "curve": curve}


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
    """Add a file to a table: an image or a recording that it names, or an .npy file of embeddings."""
    await run_in_threadpool(_uploads(request).add, table, name, await request.body())
    return {"name": name}


_MEDIA_TYPES: Document = {"image/*": {}, "audio/*": {}}


@api.get("/tables/{table}/file", response_class=Response, responses={200: {"content": _MEDIA_TYPES}})
def sent_file(
    request: Request, table: str, me: Me, name: Annotated[str, Query(min_length=1, max_length=500)]
) -> Response:
    """Return an image or a recording that was sent, for the preview of a card."""
    found = _uploads(request).get(table).files.find(name)
    if found is None:
        raise HTTPException(404, f"no file {name[:80]!r} was sent")
    data = found.read_bytes()
    return Response(data, media_type=media_kind(data))


@api.post("/tables/{table}/forecast", status_code=201)
def begin_forecast(request: Request, table: str, wanted: KnownLabels, me: Me) -> Document:
    """Begin to find out, in the background, what to expect of a study where some labels are known."""
    forecasts = _forecasts(request)
    forecasts.start(_uploads(request).get(table).table, wanted)
    return forecasts.said()


@api.get("/tables/{table}/forecast")
def forecast(request: Request, table: str, me: Me) -> Document:
    """Return what the last forecast found, in words, or that it is still at work."""
    _uploads(request).get(table)
    return _forecasts(request).said()


@api.post("/tables/{table}/learned")
def learned(request: Request, table: str, wanted: ColumnUse, me: Me) -> Document:
    """Return what a model would learn from, by name, and why not from the other columns."""
    return _uploads(request).get(table).learned(wanted)


@api.post("/studies", status_code=201)
def make(request: Request, new: NewStudy, me: Me) -> Document:
    """Make a study of a table that was sent."""
    _make(request, new, me.name)
    return {"name": new.name}


def _make(request: Request, new: NewStudy, who: str) -> None:
    found = _uploads(request).get(new.table)
    for name in new.displays:
        if name not in found.table.column_names:
            raise StudyError(f"no column {name!r}")
    with (
        shelf_of_app(request).making(new.name) as target,
        Study.create(
            target,
            found.table,
            **new.model_dump(exclude={"table", "name", "displays", "drop", "budget"}),
            hide=new.drop,
            budget=min(new.budget, found.table.num_rows, SAMPLE),
            who=who,
        ) as study,
    ):
        try:
            found.files.copy_to(target, found.named_files())
            columns = {name: {"display": display} for name, display in new.displays.items()}
            if columns:
                study.change(columns=columns, who=who)
        except BaseException:  # no study without its images; a database is dropped by the shelf
            shutil.rmtree(target, ignore_errors=True)
            raise


# -- the page and its forms ----------------------------------------------------------------------

pages = APIRouter(include_in_schema=False, default_response_class=Response)


def _owner(request: Request) -> tuple[Person, Session]:
    found = access_of(request).from_cookie(request)
    if found is None:
        raise HTTPException(303, headers={"Location": f"{request.scope.get('root_path', '')}/"})
    if not may(found[0].role, "owner"):
        raise HTTPException(403, "Only owners of the home page make studies.")
    return found


#: Who is signed in, if they may make a study; others are led to the home page, or refused.
Owner = Annotated[tuple[Person, Session], Depends(_owner)]


def check_ours(request: Request, session: Session, given: str) -> None:
    """Refuse a form of another site, which does not know what pages of this studio were given."""
    token = request.headers.get("x-csrf-token", "") or given
    if not hmac.compare_digest(token.encode(), session.csrf.encode()):
        raise HTTPException(403, "The page is out of date. Load it again.")


async def go_into(request: Request, name: str, who: str) -> Response:
    """Lead an owner of the home page into a study, signed in."""
    app = await request.app.state.studies.app(name)
    code = await run_in_threadpool(app.state.study.people.invite, who)
    return redirect(request, f"/s/{name}/?code={code}")


@pages.get("/new")
def page(request: Request, owner: Owner) -> Response:
    """Ask for a table; once there is one, for the rest."""
    number = request.query_params.get("table", "")
    if not number:
        return _page(request, owner)
    try:
        table = _uploads(request).get(number)
    except StudyError as error:
        return _page(request, owner, errors={"file": in_sentences(error)})
    return _page(request, owner, table, _first_values(table))


@pages.post("/new")
async def take_table(request: Request, owner: Owner) -> Response:
    """Read the file of the form, and go on to the questions."""
    async with request.form(max_files=1, max_fields=4) as form:
        file = form.get("file")
        check_ours(request, owner[1], str(form.get("csrf", "")))
        if not isinstance(file, UploadFile) or not file.filename:
            return _page(request, owner, errors={"file": "Choose a file."}, status=422)
        name, data = Path(file.filename).name, await file.read()
    try:
        table = await run_in_threadpool(_uploads(request).take, name, data)
    except UserError as error:
        return _page(request, owner, errors={"file": in_sentences(error)}, status=422)
    return redirect(request, f"/new?table={table.id}")


@pages.post("/new/study")
async def take_study(request: Request, owner: Owner) -> Response:
    """Make the study of the form, and go there; or show the form again with what is wrong beside it."""
    given = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
    check_ours(request, owner[1], given.get("csrf", [""])[0])
    try:
        table = _uploads(request).get(given.get("table", [""])[0])
    except StudyError as error:
        return _page(request, owner, errors={"file": in_sentences(error)}, status=422)
    values = _values(table, given)
    try:
        new = NewStudy.model_validate(_study_of(table, values))
        await run_in_threadpool(_make, request, new, owner[0].name)
    except ValidationError as refused:
        errors = {_FIELD_OF.get(str(e["loc"][0]), str(e["loc"][0])): _said(e) for e in refused.errors()}
        return _page(request, owner, table, values, errors, 422)
    except UserError as refused:
        return _page(request, owner, table, values, {_place_of(str(refused)): _without_option(refused)}, 422)
    return await go_into(request, new.name, owner[0].name)


#: Fields of the page by those of the API where they differ.
_FIELD_OF = {"classes": "positive", "displays": "protected", "drop": "protected"}


def _said(error: Any) -> str:
    if error["loc"][0] == "protected":
        return NO_PROTECTED
    if error["type"] == "string_too_short":
        return "This must not be empty."
    return str(error["msg"]) + "."


def _place_of(words: str) -> str:
    """Return the field that a refusal is about."""
    marks = {"--protected": "protected", "protected column": "protected", "cannot be a name": "name",
             "already": "name", "class": "positive", "budget": "budget", "learn from": "learns"}  # fmt: skip
    return next((place for mark, place in marks.items() if mark in words), "all")


def _without_option(error: UserError) -> str:
    """Say what is wrong without the name of the command line's option."""
    if error.what.startswith("no column is left to learn from"):
        what = error.what[0].upper() + error.what[1:]
        return f"{what}. The model needs a column besides the protected ones."
    return in_sentences(error).removeprefix("--protected ")


def _first_values(table: Uploaded) -> Document:
    displays = guess_displays(table.table)
    rows = table.table.num_rows
    budget = max(min(250, rows // 2), min(10, rows))  # an audit needs rows, too
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(table.name).stem).lstrip("-._")[:60]
    return {
        "name": stem, "question": "", "negative": "no", "positive": "yes", "protected": [],
        "bands": dict.fromkeys(displays, ""), "displays": displays, "labels": "", "metric": "tprp",
        "tolerance": "10", "budget": str(budget), "overlap": "1",
        "show_protected": False, "guidelines": "", "skip_reasons": "",
    }  # fmt: skip


def _values(table: Uploaded, given: dict[str, list[str]]) -> Document:
    """Return what was filled in, by the names of the page."""
    names = table.table.column_names
    first = _first_values(table)
    plain = {name: given[name][0] for name in first if name in given and isinstance(first[name], str)}
    return first | plain | {
        "protected": [name for name in given.get("protected", []) if name in names],
        "bands": {name: given.get(f"bands-{i}", [""])[0].strip() for i, name in enumerate(names)},
        "displays": {n: given.get(f"display-{i}", [first["displays"][n]])[0] for i, n in enumerate(names)},
        "show_protected": "show_protected" in given,
    }  # fmt: skip


def _study_of(table: Uploaded, values: Document) -> Document:
    """Return what the API takes for what was filled in; bands are written as on the command line."""
    guessed, shown = guess_displays(table.table), values["displays"]
    grouped = values["protected"]
    specs = [f"{n}:{re.sub(r'[ ;]+', '', values['bands'][n])}" if values["bands"][n] else n for n in grouped]
    drop = [
        n for n, display in shown.items() if n not in grouped and (display == "drop" or n == values["labels"])
    ]
    changed = {n: d for n, d in shown.items() if d != guessed[n] and n not in drop and n not in grouped}
    return {
        **{name: values[name] for name in ("name", "question", "metric", "show_protected", "guidelines")},
        "table": table.id,
        "classes": [values["negative"], values["positive"]],
        "protected": specs,
        "drop": drop,
        "displays": changed,
        "tolerance": _number(values["tolerance"], 0.01),
        "budget": _number(values["budget"]),
        "overlap": _number(values["overlap"]),
        "skip_reasons": [line.strip() for line in values["skip_reasons"].splitlines() if line.strip()],
    }


def _number(text: str, unit: float = 1) -> object:
    """Return a number of the form; what is none is refused where it is checked."""
    try:
        return float(text) * unit if unit != 1 else int(text)
    except ValueError:
        return text


def _page(
    request: Request,
    owner: tuple[Person, Session],
    table: Uploaded | None = None,
    values: Document | None = None,
    errors: Document | None = None,
    status: int = 200,
) -> Response:
    person, session = owner
    context: Document = {
        "title": "New study", "view": "new", "script": "new.js", "person": person, "csrf": session.csrf,
        "local": access_of(request).open, "table": None if table is None else table.described(),
        "file": "" if table is None else table.name, "v": values, "errors": errors or {},
        "displays": _DISPLAY_WORDS, "metrics": {},
    }  # fmt: skip
    if table is not None and values is not None:
        shown = _study_of(table, values)
        wanted = ColumnUse(
            protected=shown["protected"][:5],
            drop=shown["drop"],
            displays={n: d for n, d in shown["displays"].items() if d in DISPLAYS},
        )
        context["learned"] = table.learned(wanted)
        classes = (values["negative"], values["positive"])
        context["metrics"] = {name: question_sentence(name, classes) for name in METRIC_NAMES}
        # For the script, which writes other answers into them while they are typed.
        context["forms"] = {name: question_sentence(name, ("{no}", "{yes}")) for name in METRIC_NAMES}
    return render(request, "new.html", context, status)


#: How a column is shown, in words; the last is no display: such a column is not in the study.
_DISPLAY_WORDS = {
    "number": "number", "date": "date", "text": "short text", "long": "long text", "link": "link",
    "image": "image", "audio": "audio", "markdown": "Markdown", "none": "not shown", "drop": "left out",
}  # fmt: skip
