"""The studio of several studies: a page that lists them and makes new ones, and each under its name."""

from __future__ import annotations

import asyncio
import getpass
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from fairask.errors import UserError
from fairask_studio import Study, StudyError
from fairask_studio.columns import DISPLAYS
from fairask_studio.events import Document
from fairask_studio.pages import _health, _static
from fairask_studio.pages._access import Access, Me, access_of
from fairask_studio.pages._app import LOCAL_HOSTS, create_app, handle_errors
from fairask_studio.pages._app import session as session_router
from fairask_studio.pages._examples import document_examples
from fairask_studio.pages._forecast import Forecast, Forecasts
from fairask_studio.pages._limits import Limits
from fairask_studio.pages._pages import error_page, render, sign_in
from fairask_studio.pages._security import Guard, path_of
from fairask_studio.pages._shelf import Shelf, shelf_of
from fairask_studio.pages._trainer_process import TrainerProcess
from fairask_studio.pages._uploads import Uploads
from fairask_studio.store import Store

_Name = Annotated[str, Field(min_length=1, max_length=60)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewStudy(_Strict):
    """A study to make of a table that was sent."""

    table: str
    name: _Name
    question: Annotated[str, Field(min_length=1, max_length=500)]
    classes: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=60)]], Field(min_length=2, max_length=2)
    ]
    protected: Annotated[list[str], Field(min_length=1, max_length=5)]
    displays: dict[str, Annotated[str, Field(pattern=f"^({'|'.join(DISPLAYS)})$")]] = {}
    drop: list[str] = []
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.1
    budget: Annotated[int, Field(ge=1)] = 250
    batch_size: Annotated[int, Field(ge=1, le=1000)] = 25
    overlap: Annotated[int, Field(ge=1, le=10)] = 1


class Archived(_Strict):
    """Whether a study is put aside."""

    archived: bool


class Named(_Strict):
    """A name: of the copy, or typed to confirm."""

    name: _Name


class KnownLabels(_Strict):
    """Which column of a table holds labels, and what the study would be like."""

    label: str
    positive: Annotated[str, Field(min_length=1, max_length=60)]
    protected: Annotated[list[str], Field(min_length=1, max_length=5)]
    drop: list[str] = []
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.1
    budget: Annotated[int, Field(ge=1)] = 250


class Studies:
    """The apps of studies, begun when they are first asked for."""

    def __init__(self, shelf: Shelf, home: Access, *, local: bool, train: bool, images: list[str]) -> None:
        self.shelf, self.home, self.local, self.train, self.images = shelf, home, local, train, images
        self.apps: dict[str, FastAPI] = {}
        self._stacks: dict[str, AsyncExitStack] = {}
        self._lock = asyncio.Lock()

    async def app(self, name: str) -> FastAPI:
        """Return the app of a study; UserError if there is none."""
        async with self._lock:
            if name not in self.apps:
                place = await run_in_threadpool(self.shelf.place, name)
                study = await run_in_threadpool(Study.open, place)
                trainer = TrainerProcess(place) if self.train else None
                made = create_app(
                    study, local=self.local, https=self.home.https, train=False, trainer=trainer,
                    apart=self.train, images=self.images, home=self.home,
                )  # fmt: skip
                stack = AsyncExitStack()
                stack.callback(study.close)
                await stack.enter_async_context(made.router.lifespan_context(made))
                self.apps[name], self._stacks[name] = made, stack
            return self.apps[name]

    async def close(self, name: str) -> None:
        """Stop serving a study."""
        async with self._lock:
            self.apps.pop(name, None)
            stack = self._stacks.pop(name, None)
        if stack is not None:
            await stack.aclose()

    async def close_all(self) -> None:
        """Stop serving all of them."""
        for name in list(self.apps):
            await self.close(name)


api = APIRouter(prefix="/api", tags=["home"])


def _shelf(request: Request) -> Shelf:
    shelf: Shelf = request.app.state.studies.shelf
    return shelf


def _uploads(request: Request) -> Uploads:
    uploads: Uploads = request.app.state.uploads
    return uploads


def _forecasts(request: Request) -> Forecasts:
    forecasts: Forecasts = request.app.state.forecasts
    return forecasts


@api.get("/studies")
def studies(request: Request, me: Me) -> list[Document]:
    """Return all studies: question, progress, gap, state, who is on."""
    apps = request.app.state.studies.apps
    shelf = _shelf(request)
    return [shelf.summary(n, apps[n].state.study if n in apps else None) for n in shelf.names()]


@api.post("/tables", status_code=201)
async def table(
    request: Request,
    me: Me,
    name: Annotated[str, Query(min_length=1, max_length=200, pattern=r"^[^/\\\x00]+$")],
) -> Document:
    """Read a table (CSV, TSV, Parquet, Excel, ...) and describe its columns, to make a study of it."""
    found = await run_in_threadpool(_uploads(request).take, name, await request.body())
    return await run_in_threadpool(found.described)


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
        _shelf(request).making(new.name) as target,
        Study.create(
            target,
            found.table,
            protected=new.protected,
            who=me.name,
            hide=new.drop,
            question=new.question,
            classes=tuple(new.classes),
            tolerance=new.tolerance,
            budget=min(new.budget, found.table.num_rows),
            batch_size=new.batch_size,
            overlap=new.overlap,
        ) as study,
    ):
        columns = {name: {"display": display} for name, display in new.displays.items()}
        if columns:
            study.change(columns=columns, who=me.name)
    return {"name": new.name}


@api.post("/studies/{name}/open", status_code=201)
async def open_study(request: Request, name: str, me: Me) -> Document:
    """Begin to serve a study; return its address with a code that signs its owner in once."""
    app = await request.app.state.studies.app(name)
    study: Study = app.state.study
    code = await run_in_threadpool(study.people.invite, me.name)
    return {"address": f"{request.scope.get('root_path', '')}/s/{name}/?code={code}"}


@api.put("/studies/{name}")
async def archive(request: Request, name: str, wanted: Archived, me: Me) -> Document:
    """Put a study aside, or back."""
    await run_in_threadpool(_shelf(request).archive, name, wanted.archived)
    if wanted.archived:
        await request.app.state.studies.close(name)
    return {"name": name, "archived": wanted.archived}


@api.post("/studies/{name}/copy", status_code=201)
def copy(request: Request, name: str, new: Named, me: Me) -> Document:
    """Make a study of the same pool with the same settings, without labels."""
    _shelf(request).copy(name, new.name, me.name)
    return {"name": new.name}


@api.delete("/studies/{name}")
async def delete(request: Request, name: str, typed: Named, me: Me) -> Document:
    """Delete a study and its labels; its name must be typed."""
    if typed.name == name:
        await request.app.state.studies.close(name)
    await run_in_threadpool(_shelf(request).delete, name, typed.name)
    return {"name": name}


pages = APIRouter(include_in_schema=False, default_response_class=Response)
pages.add_api_route("/signin", sign_in)
pages.add_api_route("/healthz", _health.healthz, response_class=JSONResponse)
_PAGES = {"": ("home", "Studies"), "new": ("new", "New study")}


@pages.get("/")
@pages.get("/new")
def page(request: Request) -> Response:
    """Show the studies, or the page that makes one; the code of the printed address begins the session."""
    access, root = access_of(request), request.scope.get("root_path", "")
    found = access.from_cookie(request)
    if found is None:
        begun = access.people.redeem(request.query_params.get("code", ""))
        if begun is None and access.open:
            words = "Open the whole address that fairask studio printed. Its code works once."
            return error_page(request, 401, words)
        response = RedirectResponse(f"{root}/signin" if begun is None else f"{root}/", 303)
        if begun is not None:
            access.remember(request, response, begun[1])
            access.log.note(begun[0], "signed in", "by a link", request)
        return response
    person, session = found
    view, title = _PAGES[path_of(request.scope).strip("/")]
    context = {
        "title": title,
        "view": view,
        "script": f"{view}.js",
        "person": person,
        "csrf": session.csrf,
        "local": access.open,
    }
    return render(request, f"{view}.html", context)


@cache
def _routes() -> list[BaseRoute]:
    """Build the routes once, for all apps of this process."""
    whole = APIRouter()
    whole.include_router(api)
    whole.include_router(session_router, prefix="/api")
    whole.include_router(_static.router)
    whole.include_router(pages)
    return whole.routes


def create_home(
    place: str | Path,
    *,
    local: bool = True,
    https: bool = False,
    train: bool = True,
    images: list[str] | None = None,
) -> FastAPI:
    """Make the studio of a folder of studies, or of the studies of a PostgreSQL server.

    Parameters
    ----------
    place : path or URL
        Its folders hold studies; or ``postgresql://user@host``, whose databases do.
    local : bool
        Whether it is served to this machine only. Otherwise, or once the home page has people, everybody
        signs in with a token.
    https : bool
        Whether people reach it by HTTPS only, through a proxy.
    train : bool
        Draw rows and fit models in a process for each study that is open.
    images : list of str, optional
        See :func:`create_app`.

    Examples
    --------
    >>> import tempfile
    >>> create_home(tempfile.mkdtemp()).title
    'fairask studies'
    """
    shelf = shelf_of(place)
    store = shelf.people()
    scratch = tempfile.mkdtemp() if store is None else None  # for the sessions of a home page without people
    if scratch is not None:
        store = Store.create_people(scratch)
    assert store is not None
    access = Access(store, getpass.getuser() if local else None, https=https)
    studies = Studies(shelf, access, local=local, train=train, images=images or [])
    forecasts = Forecasts()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        forecasts.stop()
        await studies.close_all()
        store.close()
        shelf.close()

    app = FastAPI(
        title="fairask studies",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    if scratch is not None:
        weakref.finalize(app, shutil.rmtree, scratch, ignore_errors=True)
    app.state.access, app.state.studies = access, studies
    app.state.uploads, app.state.forecasts = Uploads(), forecasts
    app.router.routes.extend(_routes())
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=4)
    app.add_middleware(Limits)
    app.add_middleware(Guard, hosts=LOCAL_HOSTS if local else None)
    app.add_middleware(_ToStudy, studies=studies)
    handle_errors(app)

    @app.exception_handler(UserError)
    def _refused(request: Request, error: UserError) -> Response:
        return JSONResponse({"detail": str(error)}, 422)

    document_examples(app, "home")
    return app


class _ToStudy:
    """Hands requests under ``/s/NAME`` to that study's app."""

    def __init__(self, app: ASGIApp, studies: Studies) -> None:
        self.app, self.studies = app, studies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        path = path_of(scope) if scope["type"] == "http" else ""
        if not path.startswith("/s/"):
            await self.app(scope, receive, send)
            return
        name, root = path.split("/")[2], str(scope.get("root_path", ""))
        try:
            app = await self.studies.app(name)
        except UserError as error:
            await JSONResponse({"detail": str(error)}, 404)(scope, receive, send)
            return
        await app({**scope, "root_path": f"{root}/s/{name}", "app": app}, receive, send)
