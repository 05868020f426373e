"""The pages. Their scripts use the API."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.templating import Jinja2Templates

from fairask_studio import Study
from fairask_studio.events import Document
from fairask_studio.gold import EXAMPLE
from fairask_studio.pages._access import access_of
from fairask_studio.pages._labelling import study_of
from fairask_studio.pages._rights import PAGES, may
from fairask_studio.pages._static import imported, static_digest

HERE = Path(__file__).parent
router = APIRouter(include_in_schema=False, default_response_class=Response)
_TEMPLATES = Jinja2Templates(HERE / "templates")
_TEMPLATES.env.globals |= {"static_digest": static_digest(), "imported": imported}

#: What is compared between groups, in words.
_METRICS = {
    "tprp": "between groups, among rows of the positive class",
    "fprp": "between groups, among rows of the negative class",
    "eo": "between groups, among rows of either class",
    "dp": "between groups, among all rows",
}


def render(request: Request, template: str, context: Document, status: int = 200) -> Response:
    """Render a page for somebody who is not signed in to a study, unless the context says more."""
    root = request.scope.get("root_path", "")
    common: Document = {"views": {}, "person": None, "csrf": "", "script": "", "root": root}
    return _TEMPLATES.TemplateResponse(request, template, common | context, status_code=status)


def error_page(request: Request, status: int, words: str) -> Response:
    """Render an error page."""
    return render(request, "error.html", {"title": "Sorry", "status": status, "words": words}, status)


@router.get("/signin")
def sign_in(request: Request) -> Response:
    """Ask for a token."""
    access = access_of(request)
    context: Document = {"title": "Sign in", "view": "signin", "script": "signin.js", "open": access.open}
    return render(request, "signin.html", context)


@router.get("/")
def home(request: Request) -> Response:
    """Redirect to the first page of the person's role."""
    found = access_of(request).from_cookie(request)
    if found is None and "code" in request.query_params:
        return show(request, "overview")
    role = found[0].role if found else "owner"
    return _go(request, "overview" if may(role, PAGES["overview"][1]) else "label")


def _go(request: Request, view: str) -> RedirectResponse:
    return RedirectResponse(f"{request.scope.get('root_path', '')}/{view}", 303)


def _has_examples(study: Study) -> bool:
    with study.lock:
        return bool(study.state().known.of_use(EXAMPLE))


@router.get("/{view}")
def show(request: Request, view: str) -> Response:
    """Render a view; refuse it without the right role, and redirect to sign in without a session."""
    if view not in PAGES:
        return error_page(request, 404, "There is no such page.")
    access = access_of(request)
    found = access.from_cookie(request)
    if found is None:
        begun = access.people.redeem(request.query_params.get("code", ""))
        if begun is None:
            return _go(request, "signin")
        name, cookie = begun
        invited = access.person(name)
        allowed = invited is not None and may(invited.role, PAGES[view][1])
        response = _go(request, view if allowed else "")
        access.remember(request, response, cookie)
        access.log.note(name, "signed in", "by a link", request)
        return response
    person, session = found
    title, least = PAGES[view]
    if not may(person.role, least):
        return error_page(request, 403, f"This page is for the {least}s of the study.")
    views = {name: words for name, (words, role) in PAGES.items() if may(person.role, role)}
    config = study_of(request).config
    context = {
        "title": title,
        "view": view,
        "script": f"{view}.js",
        "views": views,
        "person": person,
        "owns": person.role == "owner",
        "csrf": session.csrf,
        "config": config,
        "examples": view == "label" and _has_examples(study_of(request)),
        "columns": [
            {"name": c.name, "title": c.title or c.name.replace("_", " ")}
            for c in config.columns
            if c.role != "protected"
        ],
        "metric_words": _METRICS[config.learner.metric],
        "study": access.cookie,
        "local": access.open,
        "demo": request.app.state.robot is not None,
        "home": access.home is not None,
    }
    return render(request, f"{view}.html", context)
