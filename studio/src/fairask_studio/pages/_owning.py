"""The part of the API for owners: status, events, model, settings, people, files."""

from __future__ import annotations

import zlib
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response

from fairask_studio.events import Document
from fairask_studio.pages._access import Me, access_of
from fairask_studio.pages._desk import desk_of
from fairask_studio.pages._labelling import study_of
from fairask_studio.pages._models import NewPerson, Settings
from fairask_studio.pages._questions import file_bytes, fit_again, model_members
from fairask_studio.pages._questions import status as ask_status

router = APIRouter(tags=["owning"])

FILES = {
    "labels.csv": "text/csv; charset=utf-8",
    "labels.parquet": "application/octet-stream",
    "labels-label-studio.json": "application/json",
    "events.jsonl": "application/jsonl",
    "study.json": "application/json",
    "report.html": "text/html; charset=utf-8",
    "model.skops": "application/zip",
    "certificate.json": "application/json",
}


_GIST = ("row", "label", "note", "labels", "batch", "round", "size", "what", "name", "link", "reason", "text")


@router.get("/status", responses={304: {"description": "Nothing has changed."}})
def status(request: Request, response: Response, me: Me) -> Document:
    """Return where the study stands; its ETag changes with it."""
    study = study_of(request)
    waiting, trainer = study.store.waiting(), request.app.state.trainer
    said = study.store.training()
    busy, error = said.busy, said.error or (None if trainer is None else trainer.error)

    def tag(last: int) -> str:
        return f'"{last}-{waiting.people}-{zlib.crc32(repr((busy, error)).encode())}"'

    if request.headers.get("if-none-match") == tag(study.state().last):
        raise HTTPException(304, headers={"ETag": tag(study.state().last)})
    found = desk_of(request).ask(ask_status)
    response.headers["ETag"] = tag(found["last_event"])  # what is shown may be some seconds old
    return {**found, "busy": busy, "error": error}


@router.get("/events")
def events(request: Request, me: Me, limit: Annotated[int, Query(ge=1, le=200)] = 30) -> list[Document]:
    """Return the latest events as structured data, newest first."""
    study = study_of(request)
    last = study.state().last
    found = [e for e in study.store.events(max(last - limit, 0)) if e.kind != "created"]
    return [{"id": e.id, "at": e.at, "who": e.who, "kind": e.kind, **_gist(e.data)} for e in reversed(found)]


def _gist(data: Document) -> Document:
    kept: Document = {name: data[name] for name in _GIST if name in data}
    if data.get("origin"):
        kept["link"] = data["origin"]["link"]
    if "rows" in data:
        kept["count"] = len(data["rows"])
    return kept


@router.get("/model")
def model(request: Request, me: Me) -> Document:
    """Return the study's model: round, digest, members with their weights, and the history of rounds."""
    return desk_of(request).ask(model_members)


@router.post("/model", status_code=201)
def fit(request: Request, me: Me) -> Document:
    """Fit another model on all labels; a certified model is no longer kept."""
    return desk_of(request).do(fit_again, me.name)


@router.put("/settings")
def settings(request: Request, words: Settings, me: Me) -> Document:
    """Change the question, the column dictionary or the limits on each person."""
    study = study_of(request)
    columns = {name: word.model_dump(exclude_unset=True) for name, word in words.columns.items()}
    study.change(
        question=words.question,
        columns=columns or None,
        guidelines=words.guidelines,
        skip_reasons=words.skip_reasons,
        most_skips=words.most_skips,
        most_per_minute=words.most_per_minute,
        gold_every=words.gold_every,
        gold_least=words.gold_least,
        who=me.name,
    )
    return {"question": study.config.question}


@router.get("/settings")
def get_settings(request: Request, me: Me) -> Document:
    """The study's settings."""
    return study_of(request).config.to_dict()


@router.get("/people")
def people(request: Request, me: Me) -> list[dict[str, str]]:
    """Return who may sign in."""
    return [
        {"name": person.name, "role": person.role, "since": person.since}
        for person in study_of(request).people.all()
    ]


@router.post("/people", status_code=201)
def add_person(request: Request, new: NewPerson, me: Me) -> dict[str, str]:
    """Add a person; the token is in this response only."""
    study = study_of(request)
    if not study.people.all() and new.role != "owner":
        raise HTTPException(409, "the first person must be an owner, or nobody could change the study")
    token = study.people.add(new.name, new.role)
    access_of(request).log.note(me.name, "added", new.name, request)
    return {"name": new.name, "role": new.role, "token": token}


@router.post("/people/{name}/token", status_code=201)
def renew_token(request: Request, name: str, me: Me) -> dict[str, str]:
    """Give a person a new token, which is in this response only; the old one and its sessions end."""
    people = study_of(request).people
    known = next((person for person in people.all() if person.name == name), None)
    if known is None:
        raise HTTPException(404, f"nobody is named {name!r}")
    token = people.add(name, known.role, renew=True)
    access_of(request).log.note(me.name, "gave a token to", name, request)
    return {"name": name, "role": known.role, "token": token}


@router.delete("/people/{name}")
def remove_person(request: Request, name: str, me: Me) -> dict[str, str]:
    """Remove a person; their answers stay."""
    study_of(request).people.remove(name)
    access_of(request).log.note(me.name, "removed", name, request)
    return {"name": name}


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
