"""create_app: the studio of one study as an ASGI application."""

from __future__ import annotations

import getpass
import logging
from collections.abc import AsyncIterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute

from fairask_studio import NotYoursError, Study, StudyError
from fairask_studio.connect.predicting import Predictor
from fairask_studio.events import Document
from fairask_studio.pages import (
    _certificates,
    _connect,
    _flags,
    _health,
    _inviting,
    _known,
    _labelling,
    _media,
    _overview,
    _owning,
    _pages,
    _people,
    _programs,
    _reopening,
    _rows,
    _static,
)
from fairask_studio.pages._access import Access, Me, access_of, refuse_token
from fairask_studio.pages._desk import Desk
from fairask_studio.pages._examples import document_examples
from fairask_studio.pages._limits import RETRY_SECONDS, Limits
from fairask_studio.pages._media import Images
from fairask_studio.pages._models import Pause, Refusal, SignIn
from fairask_studio.pages._security import Guard, path_of
from fairask_studio.pages._stopgap import Stopgap
from fairask_studio.pages._trainer import Trainer

if TYPE_CHECKING:
    from fairask_studio.pages._robot import Robot
    from fairask_studio.pages._trainer_process import TrainerProcess
    from fairask_studio.pages._webhooks import Webhooks

_LOG = logging.getLogger("fairask_studio.pages")

_REFUSALS: dict[int | str, Document] = {
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
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]", "::1")

session = APIRouter(tags=["session"])


@session.get("/me")
def me(request: Request, me: Me) -> Document:
    """Return who is signed in."""
    return {"name": me.name, "role": me.role}


@session.post("/session", status_code=201)
def sign_in(request: Request, response: Response, given: SignIn) -> Document:
    """Begin a session in this browser with a token, or with the code of an invitation."""
    access = access_of(request)
    if given.code is not None:
        begun = access.people.redeem(given.code)
        invited = None if begun is None else access.person(begun[0])
        if begun is None or invited is None:
            raise refuse_token(request, given.code)
        access.remember(request, response, begun[1])
        access.log.note(invited.name, "signed in", "by an invitation", request)
        return {"name": invited.name, "role": invited.role}
    person = access.people.by_token(given.token or "")
    if person is None:
        raise refuse_token(request, given.token or "")
    if person.program:
        raise HTTPException(
            403, "this token is a program's: it is sent with each request, and begins no session"
        )
    access.remember(request, response, access.people.sign_in(person.name))
    access.log.note(person.name, "signed in", person.name, request)
    return {"name": person.name, "role": person.role}


@session.delete("/session")
def sign_out(request: Request, response: Response, me: Me) -> Document:
    """End this browser's session."""
    access = access_of(request)
    access.people.sign_out(request.cookies.get(access.cookie, ""))
    response.delete_cookie(access.cookie, path=request.scope.get("root_path", "") or "/")
    return {"name": me.name}


demo = APIRouter(tags=["demo"])


@demo.get("/demo")
def get_robot(request: Request, me: Me) -> Pause:
    """Say whether the demo's annotator is paused."""
    return Pause(paused=_robot(request).paused)


@demo.put("/demo")
def set_robot(request: Request, wanted: Pause, me: Me) -> Pause:
    """Pause the demo's annotator, or let it go on."""
    _robot(request).paused = wanted.paused
    return wanted


def _robot(request: Request) -> Robot:
    robot: Robot | None = request.app.state.robot
    if robot is None:
        raise HTTPException(404, "this is no demo")
    return robot


@cache
def _routes() -> list[BaseRoute]:
    """Build the routes once, for all apps of this process: it takes half a second.

    FastAPI would build them at the first request, and silence warnings meanwhile, for all threads at once.
    A fit in another thread does the same: here they are built before any trainer begins.
    """
    owners = (
        _people.router,
        _programs.router,
        _owning.router,
        _overview.router,
        _rows.router,
        _known.router,
        _inviting.router,
        _reopening.router,
        _certificates.router,
    )
    whole = APIRouter()
    for part in (session, _labelling.router, _flags.router, _media.router, *owners, _connect.router, demo):
        whole.include_router(part, prefix="/api", responses=_REFUSALS)
    for part in (_static.router, _health.router, _pages.router):
        whole.include_router(part)
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
    images: Sequence[str] = (),
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
    images : sequence of str
        Hosts (``https://images.example.org``) and folders from which images are shown, besides the folder
        ``images`` of the study.
    home : Access, optional
        The people of the home page that serves the study, who own it besides its own people.
    webhooks : Webhooks, optional
        What tells other programs of what happens, while the app runs.

    Examples
    --------
    >>> import tempfile
    >>> from fairask_studio import Study
    >>> pool = {"age": [20, 30, 40, 50], "sex": ["f", "m"] * 2}
    >>> study = Study.create(tempfile.mkdtemp() + "/loans", pool, protected="sex")
    >>> create_app(study, train=False).title
    'fairask studio'
    >>> study.close()
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
    app.state.images = Images.of(list(images), study.target)
    local_name = getpass.getuser() if local and home is None else None
    app.state.access = Access(study.store, local_name, https=https, home=home)
    app.router.routes.extend(_routes())
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=4)
    app.add_middleware(Limits)
    app.add_middleware(Guard, hosts=LOCAL_HOSTS if local else None)
    handle_errors(app)
    document_examples(app, "study")
    return app


def handle_errors(app: FastAPI) -> None:
    """Answer what goes wrong in words: as JSON under ``/api``, as a page elsewhere."""

    @app.exception_handler(StudyError)
    def _refused(request: Request, error: StudyError) -> Response:
        return JSONResponse({"detail": str(error)}, 409 if isinstance(error, NotYoursError) else 422)

    @app.exception_handler(PoolTimeout)
    @app.exception_handler(OperationalError)
    def _unreachable(request: Request, error: OperationalError | PoolTimeout) -> Response:
        # Nothing was acknowledged, so the request can be repeated, and the page repeats it.
        _LOG.error("the database cannot be reached: %s", type(error).__name__)
        return later(request, "The database cannot be reached. Try again in a moment.")

    @app.exception_handler(BrokenProcessPool)
    def _ended(request: Request, error: BrokenProcessPool) -> Response:
        _LOG.error("the process that computes owners' pages ended while it was asked")
        return later(request, "The process that computes this was ended. Try again in a moment.")

    def later(request: Request, words: str) -> Response:
        if path_of(request.scope).startswith("/api"):
            return JSONResponse({"detail": words}, 503, {"Retry-After": str(RETRY_SECONDS)})
        page = _pages.error_page(request, 503, words)
        page.headers["Retry-After"] = str(RETRY_SECONDS)
        return page

    @app.exception_handler(RequestValidationError)
    def _invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or "body"
        return JSONResponse({"detail": f"{where}: {first['msg']}"}, 422)

    @app.exception_handler(StarletteHTTPException)
    def _http(request: Request, error: StarletteHTTPException) -> Response:
        if error.status_code == 304:
            return Response(status_code=304, headers=error.headers)
        if path_of(request.scope).startswith("/api"):
            return JSONResponse({"detail": str(error.detail)}, error.status_code, error.headers)
        return _pages.error_page(request, error.status_code, str(error.detail))
