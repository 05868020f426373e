"""The studio of a folder: a page that lists its studies and makes new ones, and each study under its name."""

from __future__ import annotations

import asyncio
import getpass
import hmac
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from fairask.errors import UserError
from fairask.studio import _static
from fairask.studio._app import LOCAL_HOSTS, create_app
from fairask.studio._examples import document_examples
from fairask.studio._pages import render
from fairask.studio._security import Guard, path_of
from fairask.studio._shelf import Shelf
from fairask.studio._trainer_process import TrainerProcess
from fairask.study import Study
from fairask.study.events import Document

__all__ = ["create_home"]

_COOKIE = "fairask_home"
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
    displays: dict[str, str] = {}
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


class Sessions:
    """Who may see the home page: whoever opened the printed address. Kept in memory."""

    def __init__(self) -> None:
        self.code = secrets.token_urlsafe(24)
        self.known: dict[str, str] = {}

    def begin(self, code: str) -> str | None:
        """Return the cookie of a new session, None for a wrong or used code."""
        if not self.code or not hmac.compare_digest(code.encode(), self.code.encode()):
            return None
        self.code, cookie = "", secrets.token_urlsafe(24)
        self.known[cookie] = secrets.token_urlsafe(24)
        return cookie

    def csrf(self, request: Request) -> str | None:
        """Return the token of the request's session."""
        return self.known.get(request.cookies.get(_COOKIE, ""))


class Studies:
    """The apps of studies, begun when they are first asked for."""

    def __init__(self, shelf: Shelf, *, local: bool, train: bool, images: list[str]) -> None:
        self.shelf, self.local, self.train, self.images = shelf, local, train, images
        self.apps: dict[str, FastAPI] = {}
        self._stacks: dict[str, AsyncExitStack] = {}
        self._lock = asyncio.Lock()

    async def app(self, name: str) -> FastAPI:
        """Return the app of a study; UserError if there is none."""
        async with self._lock:
            if name not in self.apps:
                place = str(self.shelf.place(name))
                study = await run_in_threadpool(Study.open, place)
                trainer = TrainerProcess(place) if self.train else None
                made = create_app(
                    study, local=self.local, train=False, trainer=trainer, apart=self.train,
                    images=self.images, owner=getpass.getuser(),
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


def _allowed(request: Request) -> None:
    csrf = request.app.state.sessions.csrf(request)
    if csrf is None:
        raise HTTPException(401, "open the address that fairask studio printed")
    given = request.headers.get("x-csrf-token", "")
    if request.method != "GET" and not hmac.compare_digest(given.encode(), csrf.encode()):
        raise HTTPException(403, "the page is out of date; load it again")


api = APIRouter(prefix="/api", dependencies=[Depends(_allowed)], tags=["home"])


def _shelf(request: Request) -> Shelf:
    shelf: Shelf = request.app.state.studies.shelf
    return shelf


@api.get("/studies")
def studies(request: Request) -> list[Document]:
    """Return all studies: question, progress, gap, state, who is on."""
    apps = request.app.state.studies.apps
    shelf = _shelf(request)
    return [shelf.summary(n, apps[n].state.study if n in apps else None) for n in shelf.names()]


@api.post("/tables", status_code=201)
async def table(
    request: Request, name: Annotated[str, Query(min_length=1, max_length=200, pattern=r"^[^/\\\x00]+$")]
) -> Document:
    """Read a table (CSV, TSV, Parquet, Excel, ...) and describe its columns, to make a study of it."""
    found = await run_in_threadpool(_shelf(request).upload, name, await request.body())
    return await run_in_threadpool(found.described)


@api.post("/studies", status_code=201)
def make(request: Request, new: NewStudy) -> Document:
    """Make a study of a table that was sent."""
    shelf = _shelf(request)
    found = shelf.uploaded(new.table)
    with Study.create(
        shelf.new_place(new.name),
        found.table,
        protected=new.protected,
        who=getpass.getuser(),
        hide=new.drop,
        question=new.question,
        classes=tuple(new.classes),
        tolerance=new.tolerance,
        budget=min(new.budget, found.table.num_rows),
        batch_size=new.batch_size,
        overlap=new.overlap,
    ) as study:
        columns = {name: {"display": display} for name, display in new.displays.items()}
        if columns:
            study.change(columns=columns, who=getpass.getuser())
    return {"name": new.name}


@api.post("/studies/{name}/open", status_code=201)
async def open_study(request: Request, name: str) -> Document:
    """Begin to serve a study; return its address with a code that signs its owner in once."""
    app = await request.app.state.studies.app(name)
    study: Study = app.state.study
    code = await run_in_threadpool(study.people.invite, getpass.getuser())
    return {"address": f"{request.scope.get('root_path', '')}/s/{name}/?code={code}"}


@api.put("/studies/{name}")
async def archive(request: Request, name: str, wanted: Archived) -> Document:
    """Put a study aside, or back."""
    await run_in_threadpool(_shelf(request).archive, name, wanted.archived)
    if wanted.archived:
        await request.app.state.studies.close(name)
    return {"name": name, "archived": wanted.archived}


@api.post("/studies/{name}/copy", status_code=201)
def copy(request: Request, name: str, new: Named) -> Document:
    """Make a study of the same pool with the same settings, without labels."""
    _shelf(request).copy(name, new.name, getpass.getuser())
    return {"name": new.name}


@api.delete("/studies/{name}")
async def delete(request: Request, name: str, typed: Named) -> Document:
    """Delete a study and its labels; its name must be typed."""
    if typed.name == name:
        await request.app.state.studies.close(name)
    await run_in_threadpool(_shelf(request).delete, name, typed.name)
    return {"name": name}


pages = APIRouter(include_in_schema=False, default_response_class=Response)


@pages.get("/")
@pages.get("/new")
def page(request: Request) -> Response:
    """Show the studies, or the page that makes one; the code of the printed address begins the session."""
    sessions: Sessions = request.app.state.sessions
    csrf = sessions.csrf(request)
    root = request.scope.get("root_path", "")
    if csrf is None:
        cookie = sessions.begin(request.query_params.get("code", ""))
        if cookie is None:
            words = "Open the whole address that fairask studio printed. Its code works once."
            return render(request, "error.html", {"title": "Sign in", "status": 401, "words": words}, 401)
        response = RedirectResponse(f"{root}/", 303)
        response.set_cookie(_COOKIE, cookie, path=root or "/", httponly=True, samesite="strict")
        return response
    view = "new" if path_of(request.scope).endswith("/new") else "home"
    titles = {"home": "Studies", "new": "New study"}
    return render(
        request, f"{view}.html", {"title": titles[view], "view": view, "script": f"{view}.js", "csrf": csrf}
    )


def create_home(
    folder: str | Path, *, local: bool = True, train: bool = True, images: list[str] | None = None
) -> FastAPI:
    """Make the studio of a folder of studies.

    Parameters
    ----------
    folder : path
        Its folders hold studies.
    local : bool
        Whether it is served to this machine only.
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
    studies = Studies(Shelf(folder), local=local, train=train, images=images or [])

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await studies.close_all()

    app = FastAPI(
        title="fairask studies",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.sessions, app.state.studies = Sessions(), studies
    for router in (api, _static.router, pages):
        app.include_router(router)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=4)
    app.add_middleware(Guard, hosts=LOCAL_HOSTS if local else None)
    app.add_middleware(_ToStudy, studies=studies)

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
