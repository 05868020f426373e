"""The studio of several studies: a page that lists them, and each under its name."""

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
from urllib.parse import parse_qs

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from fairask.errors import UserError
from fairask_studio import Study, StudyError
from fairask_studio.events import Document
from fairask_studio.pages import frame, new, signin
from fairask_studio.pages.access import Access, Me, access_of
from fairask_studio.pages.api import Strict
from fairask_studio.pages.app import create_app, healthz
from fairask_studio.pages.demo import demo_study
from fairask_studio.pages.frame import error_page, redirect, render
from fairask_studio.pages.guard import guard, path_of
from fairask_studio.pages.new import Forecasts, Owner, Uploads, check_ours, go_into, shelf_of_app
from fairask_studio.pages.shelf import Shelf, shelf_of
from fairask_studio.pages.worker import TrainerProcess
from fairask_studio.store.store import Store

_Name = Annotated[str, Field(min_length=1, max_length=60)]


class Archived(Strict):
    """Whether a study is put aside."""

    archived: bool


class Named(Strict):
    """A name: of the copy, or typed to confirm."""

    name: _Name


class Studies:
    """The apps of studies, begun when they are first asked for."""

    def __init__(self, shelf: Shelf, home: Access, *, local: bool, train: bool, media: list[str]) -> None:
        self.shelf, self.home, self.local, self.train, self.media = shelf, home, local, train, media
        self.apps: dict[str, FastAPI] = {}
        self._stacks: dict[str, AsyncExitStack] = {}
        self._kept_closed: set[str] = set()
        self._lock = asyncio.Lock()

    async def app(self, name: str) -> FastAPI:
        """Return the app of a study; UserError if there is none."""
        async with self._lock:
            if name in self._kept_closed:
                raise StudyError(f"{name!r} is being archived or deleted", "Try again in a moment")
            if name not in self.apps:
                place = await run_in_threadpool(self.shelf.place, name)
                study = await run_in_threadpool(Study.open, place)
                trainer = TrainerProcess(place) if self.train else None
                made = create_app(
                    study, local=self.local, https=self.home.https, train=False, trainer=trainer,
                    apart=self.train, media=self.media, home=self.home,
                )  # fmt: skip
                stack = AsyncExitStack()
                stack.callback(study.close)
                await stack.enter_async_context(made.router.lifespan_context(made))
                self.apps[name], self._stacks[name] = made, stack
            return self.apps[name]

    @asynccontextmanager
    async def closed(self, name: str) -> AsyncIterator[None]:
        """Stop serving a study; pages that are open ask for it, and begin it only after the block."""
        async with self._lock:
            self._kept_closed.add(name)
            self.apps.pop(name, None)
            stack = self._stacks.pop(name, None)
        try:
            if stack is not None:
                await stack.aclose()
            yield
        finally:
            self._kept_closed.discard(name)

    async def close_all(self) -> None:
        """Stop serving all of them."""
        for name in list(self.apps):
            async with self.closed(name):
                pass


api = APIRouter(prefix="/api", tags=["home"])


@api.get("/studies")
def studies(request: Request, me: Me) -> list[Document]:
    """Return all studies: question, progress, gap, state, who is on."""
    apps = request.app.state.studies.apps
    shelf = shelf_of_app(request)
    return [shelf.summary(n, apps[n].state.study if n in apps else None) for n in shelf.names()]


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
    shelf = shelf_of_app(request)
    await run_in_threadpool(shelf.archive, name, wanted.archived)
    if wanted.archived:
        async with request.app.state.studies.closed(name):
            pass
    return {"name": name, "archived": wanted.archived}


@api.post("/studies/{name}/copy", status_code=201)
def copy(request: Request, name: str, new: Named, me: Me) -> Document:
    """Make a study of the same pool with the same settings, without labels."""
    shelf_of_app(request).copy(name, new.name, me.name)
    return {"name": new.name}


@api.delete("/studies/{name}")
async def delete(request: Request, name: str, typed: Named, me: Me) -> Document:
    """Delete a study and its labels; its name must be typed."""
    async with AsyncExitStack() as stack:
        if typed.name == name:
            await stack.enter_async_context(request.app.state.studies.closed(name))
        await run_in_threadpool(shelf_of_app(request).delete, name, typed.name)
    return {"name": name}


pages = APIRouter(include_in_schema=False, default_response_class=Response)


pages.add_api_route("/healthz", healthz, response_class=JSONResponse)


@pages.get("/")
def page(request: Request) -> Response:
    """Show the studies; the code of the printed address begins the session."""
    access = access_of(request)
    found = access.from_cookie(request)
    if found is None:
        begun = access.people.redeem(request.query_params.get("code", ""))
        if begun is not None:
            response = redirect(request, "/")
            access.remember(request, response, *begun, "by a link")
            return response
        if access.open:
            words = "Open the whole address that fairask studio printed. Its code works once."
            return error_page(request, 401, words)
        return signin.ended(request) or redirect(request, "/signin")
    person, session = found
    context = {
        "title": "Studies",
        "view": "home",
        "script": "home.js",
        "person": person,
        "csrf": session.csrf,
        "local": access.open,
    }
    return render(request, "home.html", context)


@pages.get("/open/{name}")
async def go_to(request: Request, name: str, owner: Owner) -> Response:
    """Go to a study, signed in; the titles of the home page lead here."""
    try:
        return await go_into(request, name, owner[0].name)
    except UserError as error:
        return error_page(request, 404, str(error))


@pages.post("/demo")
async def try_demo(request: Request, owner: Owner) -> Response:
    """Make the study of the demo, if it is not there yet, and go to it."""
    given = parse_qs((await request.body()).decode("utf-8", "replace"))
    check_ours(request, owner[1], given.get("csrf", [""])[0])
    shelf = shelf_of_app(request)

    def make() -> None:
        if _DEMO not in shelf.names():
            with shelf.making(_DEMO) as target:
                demo_study(target)[0].close()

    await run_in_threadpool(make)
    return await go_into(request, _DEMO, owner[0].name)


#: Name of the demo among the studies.
_DEMO = "demo-loans"


@cache
def _routes() -> list[BaseRoute]:
    """Build the routes once, for all apps of this process."""
    whole = APIRouter()
    whole.include_router(api)
    whole.include_router(new.api)
    whole.include_router(signin.session, prefix="/api")
    whole.include_router(frame.router)
    whole.include_router(signin.pages)
    whole.include_router(pages)
    whole.include_router(new.pages)
    return whole.routes


def create_home(
    place: str | Path,
    *,
    local: bool = True,
    https: bool = False,
    train: bool = True,
    media: list[str] | None = None,
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
    media : list of str, optional
        See :func:`create_app`.
    """
    shelf = shelf_of(place)
    store = shelf.people()
    scratch = tempfile.mkdtemp() if store is None else None  # for the sessions of a home page without people
    if scratch is not None:
        store = Store.create_people(scratch)
    assert store is not None
    access = Access(store, getpass.getuser() if local else None, https=https)
    studies = Studies(shelf, access, local=local, train=train, media=media or [])
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
    guard(app, local=local)
    app.add_middleware(_ToStudy, studies=studies)
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
        except UserError:  # why is told on the page of studies: nobody has signed in yet
            words = f"no study {name!r} here that can be opened"
            await JSONResponse({"detail": words}, 404)(scope, receive, send)
            return
        await app({**scope, "root_path": f"{root}/s/{name}", "app": app}, receive, send)
