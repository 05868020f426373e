"""Routes for tools outside the studio: answers come in, and Label Studio may ask for predictions.

A tool signs its messages (Standard Webhooks) or sends the token of its link. The routes ``health``,
``setup``, ``predict`` and ``webhook`` are those of an ML backend of Label Studio.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import time
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from pydantic import Field, ValidationError
from starlette.concurrency import run_in_threadpool

from fairask_studio.connect.connector import Link, is_token, link_counts
from fairask_studio.connect.labelstudio import Predictor, webhook_answers
from fairask_studio.connect.webhook import SignatureError, verify_signature
from fairask_studio.events import Document, ToolLinked
from fairask_studio.files import TASK_CHECK, TASK_ROW
from fairask_studio.pages.access import Me, access_of, refuse_token
from fairask_studio.pages.api import Row, Strict, Text, study_of
from fairask_studio.tools import OutsideAnswer


class ToolAnswer(Strict):
    """One person's answer to a row, given in another tool."""

    id: Annotated[Text, Field(min_length=1, max_length=200)]  #: the tool's number of the answer
    version: Annotated[int, Field(ge=0, le=2**62)] = 0  #: grows when the answer changes
    row: Row
    check: Annotated[Text, Field(max_length=40)] = ""
    who: Annotated[Text, Field(max_length=200)] = ""
    label: Annotated[Text, Field(max_length=60)] | None = None
    note: Annotated[Text, Field(max_length=2000)] = ""
    deleted: bool = False


class OutsideAnswers(Strict):
    """Answers of another tool."""

    answers: Annotated[list[ToolAnswer], Field(max_length=1000)]


router = APIRouter(tags=["connect"])

#: The variable with the secret of signed messages.
SECRET = "FAIRASK_WEBHOOK_SECRET"


def _given_token(request: Request) -> str:
    """Return the token of a request: a bearer token, or the password of basic authentication."""
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return value if kind.lower() in ("bearer", "token") else ""


def _check(request: Request, name: str, body: bytes) -> ToolLinked:
    study = study_of(request)
    with study.lock:
        linked = study.state().outside.links.get(name)
    if "webhook-signature" in request.headers:
        secret = os.environ.get(SECRET, "")
        try:
            if not secret:
                raise SignatureError(f"this studio was started without {SECRET}")
            verify_signature(secret, request.headers, body)
        except SignatureError as error:
            access_of(request).log.write("unknown", "was refused", str(error), request)
            raise HTTPException(401, str(error)) from error
    elif not (token := _given_token(request)):
        raise HTTPException(401, "send the link's token, or sign the message", {"WWW-Authenticate": "Basic"})
    elif linked is None or not is_token(linked, token):
        raise refuse_token(request, token)
    if linked is None:
        raise HTTPException(404, f"no link {name!r}; make it with fairask connect")
    return linked


async def _linked(request: Request, name: str) -> ToolLinked:
    # In a thread: a database that does not answer must not stop the event loop.
    return await run_in_threadpool(_check, request, name, await request.body())


Linked = Annotated[ToolLinked, Depends(_linked)]


async def _body(request: Request) -> Document:
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "the body is not JSON") from error
    if not isinstance(found, dict):
        raise HTTPException(422, "the body is not a JSON object")
    return found


Body = Annotated[Document, Depends(_body)]


@router.get("/connect")
def links(request: Request, me: Me) -> list[Document]:
    """Return the tools that are linked: what was sent, what came back, what was refused and why."""
    return link_counts(study_of(request))


@router.post("/connect/{name}/answers", status_code=201)
def take_answers(request: Request, linked: Linked, body: Body) -> Document:
    """Take answers of a linked tool; telling the same again changes nothing."""
    try:
        given = OutsideAnswers.model_validate(body.get("data", body) if "type" in body else body)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "body"
        raise HTTPException(422, f"{where}: {first['msg']}") from error
    answers = [
        OutsideAnswer(a.id, a.version, a.row, a.who, a.label, a.check, a.note, a.deleted)
        for a in given.answers
    ]
    done = study_of(request).receive(linked.link, answers)
    return {**done.counts(), "reasons": done.refused}


@router.post("/connect/{name}/webhook", status_code=201)
def webhook(request: Request, linked: Linked, body: Body) -> Document:
    """Take what a webhook of Label Studio tells; what it does not say is found by polling."""
    try:
        answers = webhook_answers(body, linked.project, linked.people or {}, time.time())
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise HTTPException(422, f"this is no message of Label Studio: {error!r}") from error
    return study_of(request).receive(linked.link, answers).counts()


@router.get("/connect/{name}/health")
def health(name: str) -> Document:
    """Say that an ML backend is here."""
    return {"status": "UP", "model_class": "fairask"}


@router.post("/connect/{name}/setup")
def setup(request: Request, linked: Linked) -> Document:
    """Name the model that predicts."""
    return {"model_version": _predictor(request).version or "no model yet"}


@router.post("/connect/{name}/predict")
def predict(request: Request, linked: Linked, body: Body) -> Document:
    """Predict tasks; no predictions unless the link was made with them, since they sway people."""
    if not Link.of(linked).predictions:
        return {"results": []}
    try:
        given = [(task["data"][TASK_ROW], task["data"].get(TASK_CHECK)) for task in body["tasks"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise HTTPException(422, "a task is not one of this study") from error
    rows = [row for row, _ in given]
    codes = study_of(request).row_codes(rows) if all(isinstance(row, int) for row in rows) else {}
    if [codes.get(row) for row in rows] != [code for _, code in given]:
        raise HTTPException(422, "a task is not one of this study: its check code is wrong")
    return {"results": _predictor(request).predictions(rows)}


def _predictor(request: Request) -> Predictor:
    predictor: Predictor = request.app.state.predictor
    return predictor
