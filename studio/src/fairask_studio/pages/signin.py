"""Signing in: the page, its form, and the session of a browser."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, HTTPException, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from fairask_studio.events import Document
from fairask_studio.pages.access import Me, access_of, refuse_token
from fairask_studio.pages.api import Strict
from fairask_studio.pages.frame import redirect, render
from fairask_studio.store.people import Person


class SignIn(Strict):
    """A token, or the code of an invitation."""

    token: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    code: Annotated[str, Field(min_length=1, max_length=200)] | None = None


session = APIRouter(tags=["session"])
pages = APIRouter(include_in_schema=False, default_response_class=Response)


@session.get("/me")
def me(request: Request, me: Me) -> Document:
    """Return who is signed in."""
    return {"name": me.name, "role": me.role}


@session.post("/session", status_code=201)
def sign_in(request: Request, response: Response, given: SignIn) -> Document:
    """Begin a session in this browser with a token, or with the code of an invitation."""
    access = access_of(request)
    if given.code is None:
        person = _begin(request, response, given.token or "")
        return {"name": person.name, "role": person.role}
    begun = access.people.redeem(given.code)
    invited = None if begun is None else access.person(begun[0])
    if begun is None or invited is None:
        raise refuse_token(request, given.code)
    access.remember(request, response, invited.name, begun[1], "by an invitation")
    return {"name": invited.name, "role": invited.role}


def _begin(request: Request, response: Response, token: str) -> Person:
    """Begin the session of whoever has the token; HTTPException if nobody has."""
    access = access_of(request)
    person = access.people.by_token(token)
    if person is None:
        raise refuse_token(request, token)
    if person.program:
        raise HTTPException(
            403, "this token is a program's: it is sent with each request, and begins no session"
        )
    access.remember(request, response, person.name, access.people.sign_in(person.name), person.name)
    return person


@session.delete("/session")
def sign_out(request: Request, response: Response, me: Me) -> Document:
    """End this browser's session."""
    access = access_of(request)
    access.people.sign_out(request.cookies.get(access.cookie, ""))
    response.delete_cookie(access.cookie, path=request.scope.get("root_path", "") or "/")
    return {"name": me.name}


def ended(request: Request) -> Response | None:
    """Say what became of the link that was opened, and whom to ask; None if it never was one."""
    people = access_of(request).people
    became = people.became(request.query_params.get("code", ""))
    if became is None:
        return None
    owners = [person.name for person in people.all() if person.role == "owner"]
    ask = (
        f"Ask {' or '.join(owners)} for a new one."
        if owners
        else "Start the studio again: it prints a new one."
    )
    return _page(request, status=410, became=f"{became} {ask}")


def ask_first(request: Request, person: Person | None) -> Response | None:
    """Ask before a link is used that another person is signed in for, or that perhaps nobody opened.

    Chats and scanners of mail open the links that pass through them, and would use them up. Over HTTPS
    a browser says that it opens a page; what says nothing has to press the button.
    """
    access, code = access_of(request), request.query_params["code"]
    name = access.people.invited(code)
    safe = access.https or request.url.scheme == "https"
    opened = not safe or request.headers.get("sec-fetch-mode") == "navigate"
    if name is None or (opened if person is None else person.name == name):
        return None
    return _page(request, invited=name, code=code, other=person and person.name)


@pages.get("/signin")
def ask_for_token(request: Request) -> Response:
    """Ask for a token."""
    return _page(request)


@pages.post("/signin")
async def take_token(request: Request) -> Response:
    """Begin a session by the page's form: what a browser sends whose script has not run."""
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        # Another site could sign somebody in under a name that it knows.
        raise HTTPException(403, "open the page of the study to sign in")
    given = parse_qs((await request.body()).decode("utf-8", "replace"))
    token, code = (given.get(name, [""])[0].strip()[:200] for name in ("token", "code"))
    return await run_in_threadpool(_take, request, SignIn(token=token or None, code=code or None))


def _take(request: Request, given: SignIn) -> Response:
    response = redirect(request, "/")
    try:
        sign_in(request, response, given)
    except HTTPException as error:
        page = _page(request, str(error.detail), error.status_code)
        page.headers.update(error.headers or {})
        return page
    return response


def _page(
    request: Request, refused: str = "", status: int = 200, became: str = "", **invitation: object
) -> Response:
    context: Document = {
        **invitation,
        "title": "Sign in",
        "view": "signin",
        "open": access_of(request).open,
        "refused": refused,
        "became": became,
        "ended": "ended" in request.query_params,
    }
    return render(request, "signin.html", context, status)
