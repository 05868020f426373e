"""create_app: the studio of one study as an ASGI application."""

from __future__ import annotations

import getpass
import shlex
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from starlette.routing import BaseRoute

from fairask.report.words import question_sentence
from fairask_studio import Study
from fairask_studio.connect.labelstudio import Predictor
from fairask_studio.connect.webhook import Webhooks
from fairask_studio.gold import EXAMPLE
from fairask_studio.pages import (
    certificate,
    demo,
    frame,
    label,
    links,
    model,
    overview,
    people,
    rows,
    settings,
    signin,
)
from fairask_studio.pages import (
    media as cells,
)
from fairask_studio.pages.access import PAGES, Access, access_of, may
from fairask_studio.pages.api import REFUSALS, study_of
from fairask_studio.pages.demo import Robot
from fairask_studio.pages.desk import Desk
from fairask_studio.pages.frame import error_page, redirect, render
from fairask_studio.pages.guard import guard
from fairask_studio.pages.media import Media
from fairask_studio.pages.stopgap import Stopgap
from fairask_studio.pages.worker import Trainer, TrainerProcess
from fairask_studio.store.postgres import is_url

health = APIRouter(include_in_schema=False)
views = APIRouter(include_in_schema=False, default_response_class=Response)


@health.get("/healthz")
async def healthz() -> dict[str, str]:
    """Say that the server answers; no database is asked."""
    return {"status": "ok"}


@health.get("/readyz")
def readyz(request: Request) -> JSONResponse:
    """Say whether the database answers and the trainer works; 503 if one does not."""
    said = study_of(request).store.training()
    trainer = request.app.state.trainer
    alive = not isinstance(trainer, TrainerProcess) or trainer.alive
    ready = alive and said.error is None
    words = "ok" if alive else "stopped"
    return JSONResponse(
        {"database": "ok", "trainer": "failed" if said.error else words},
        200 if ready else 503,
        None if ready else {"Retry-After": "5"},
    )


@views.get("/")
def home(request: Request) -> Response:
    """Redirect to the first page of the person's role."""
    found = access_of(request).from_cookie(request)
    if "code" in request.query_params and (asked := signin.ask_first(request, found and found[0])):
        return asked
    if found is None and "code" in request.query_params:
        return show(request, "overview")
    role = found[0].role if found else "owner"
    return redirect(request, "/overview" if may(role, PAGES["overview"][1]) else "/label")


def _has_examples(study: Study) -> bool:
    with study.lock:
        return bool(study.state().known.of_use(EXAMPLE))


def _made(study: Study) -> dict[str, bool]:
    """Return which of the study's files are there."""
    with study.lock:
        state = study.state()
        return {"model": state.model is not None, "certificate": bool(state.certificates)}


@views.get("/{view}")
def show(request: Request, view: str) -> Response:
    """Render a view; refuse it without the right role, and redirect to sign in without a session."""
    if view not in PAGES:
        return error_page(request, 404, "There is no such page.")
    access = access_of(request)
    found = access.from_cookie(request)
    if "code" in request.query_params and (asked := signin.ask_first(request, found and found[0])):
        return asked
    if found is None:
        begun = access.people.redeem(request.query_params.get("code", ""))
        if begun is None:
            return signin.ended(request) or redirect(request, "/signin")
        invited = access.person(begun[0])
        allowed = invited is not None and may(invited.role, PAGES[view][1])
        response = redirect(request, f"/{view}" if allowed else "/")
        access.remember(request, response, *begun, "by a link")
        return response
    person, session = found
    title, least = PAGES[view]
    if not may(person.role, least):
        return error_page(request, 403, f"This page is for the {least}s of the study.")
    shown = {name: words for name, (words, role) in PAGES.items() if may(person.role, role)}
    study = study_of(request)
    config = study.config
    context = {
        "title": title,
        "view": view,
        "script": f"{view}.js",
        "views": shown,
        "person": person,
        "owns": person.role == "owner",
        "csrf": session.csrf,
        "config": config,
        # As a word of a command; a URL may hold a password.
        "place": "URL" if is_url(study.target) else shlex.quote(study.target),
        "examples": view == "label" and _has_examples(study),
        "made": _made(study) if view == "settings" else {},
        "anybody": view == "people" and study.people.any(),
        "columns": [
            {"name": c.name, "title": c.title or c.name.replace("_", " ")}
            for c in config.columns
            if c.role != "protected"
        ],
        "metric_words": question_sentence(config.learner.metric, config.classes),
        "study": access.cookie,
        "local": access.open,
        "demo": request.app.state.robot is not None,
        # Whoever may only label has no right to the page of all studies.
        "home": access.home is not None and person.role == "owner",
    }
    return render(request, f"{view}.html", context)


@cache
def _routes() -> list[BaseRoute]:
    """Build the routes once, for all apps of this process: it takes half a second.

    FastAPI would build them at the first request, and silence warnings meanwhile, for all threads at once.
    A fit in another thread does the same: here they are built before any trainer begins.
    """
    whole = APIRouter()
    parts = (label, cells, people, overview, rows, settings, model, certificate, links)
    for router in (signin.session, *(part.router for part in parts), demo.router):
        whole.include_router(router, prefix="/api", responses=REFUSALS)
    for router in (frame.router, health, signin.pages, views):
        whole.include_router(router)
    get_openapi(title="", version="", routes=whole.routes)
    return whole.routes


def create_app(
    study: Study,
    *,
    local: bool = True,
    https: bool = False,
    train: bool = True,
    trainer: Trainer | TrainerProcess | None = None,
    robot: Robot | None = None,
    apart: bool = False,
    media: Sequence[str] = (),
    home: Access | None = None,
    webhooks: Webhooks | None = None,
) -> FastAPI:
    """Make the studio of a study.

    Parameters
    ----------
    study : Study
    local : bool
        Whether it is served to this machine only: then requests must name this machine, and while the study
        has no people, a code begins the session of an owner (``app.state.access.invite()``). Otherwise
        everybody signs in with a token.
    https : bool
        Whether people reach it by HTTPS only, through a proxy: cookies are then never sent without.
    train : bool
        Draw rows and fit models in a background thread while the app runs, unless a ``trainer`` is given.
    trainer : Trainer or TrainerProcess, optional
        What draws rows and fits models while the app runs.
    robot : Robot, optional
        A scripted annotator, for the demo.
    apart : bool
        Answer owners' questions in a process of its own, so that annotators do not wait for them.
    media : sequence of str
        Hosts (``https://media.example.org``) and folders from which images and recordings
        come, besides the folder ``media`` of the study.
    home : Access, optional
        The people of the home page that serves the study, who own it besides its own people.
    webhooks : Webhooks, optional
        What tells other programs of what happens, while the app runs.
    """
    if trainer is None and train:
        trainer = Trainer(study)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        workers = [worker for worker in (trainer, robot, webhooks) if worker is not None]
        for worker in workers:
            worker.start()
        yield
        for worker in reversed(workers):
            worker.stop()
        app.state.desk.close()

    app = FastAPI(
        title="fairask studio",
        description="The API that the studio's own pages use.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.desk, app.state.stopgap = Desk(study, apart=apart), Stopgap()
    app.state.predictor = Predictor(study)
    app.state.study, app.state.trainer, app.state.robot = study, trainer, robot
    app.state.media = Media.of(list(media), study.target)
    local_name = getpass.getuser() if local and home is None else None
    app.state.access = Access(study.store, local_name, https=https, home=home)
    app.router.routes.extend(_routes())
    guard(app, local=local)
    return app
