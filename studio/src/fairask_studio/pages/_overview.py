"""The API of the overview and the model's page: the story in words, and a look into the model."""

from __future__ import annotations

from fastapi import APIRouter, Request

from fairask_studio.events import Document
from fairask_studio.pages._access import Me
from fairask_studio.pages._desk import desk_of
from fairask_studio.pages._model_page import model_details
from fairask_studio.pages._story import story as ask_story

router = APIRouter(tags=["owning"])


@router.get("/story")
def story(request: Request, me: Me) -> Document:
    """Return where the study stands in words, its steps and the next one, pace and disagreements."""
    return desk_of(request).ask(ask_story)


@router.get("/model/details")
def details(request: Request, me: Me) -> Document:
    """Return members and thresholds, what the model looks at, rows near a threshold, errors by group."""
    return {"found": desk_of(request).ask(model_details)}
