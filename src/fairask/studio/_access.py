"""Who sends a request: sessions for browsers, tokens for programs, roles for both."""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import Depends, HTTPException, Request, Response, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from fairask.study import Study
from fairask.study.store import Person
from fairask.study.store.people import SESSION_SECONDS

__all__ = ["COOKIE", "Access", "Me", "Owner", "access_of"]

COOKIE = "fairask_session"
_BEARER = HTTPBearer(auto_error=False, description="A person's token, for programs.")
_COOKIE = APIKeyCookie(name=COOKIE, auto_error=False, description="A session, for browsers.")
_SAFE = ("GET", "HEAD", "OPTIONS")


class Access:
    """Finds the person behind a request.

    If the study has no people and the app serves this machine only, everyone who opens a page is the owner.
    """

    def __init__(self, study: Study, local_name: str | None) -> None:
        self.study, self.local_name = study, local_name

    @property
    def open(self) -> bool:
        """Whether nobody needs to sign in."""
        return self.local_name is not None and not self.study.people.any()

    def person(self, name: str) -> Person | None:
        """Return the person of a session."""
        known = self.study.people.by_name(name)
        if known is None and self.open and name == self.local_name:
            return Person(name, "owner")
        return known

    def from_cookie(self, request: Request) -> tuple[Person, str] | None:
        """Return person and CSRF token of a browser's session."""
        session = self.study.people.session(request.cookies.get(COOKIE, ""))
        person = None if session is None else self.person(session.name)
        return None if session is None or person is None else (person, session.csrf)

    def remember(self, request: Request, response: Response, name: str) -> None:
        """Begin a session in this browser."""
        response.set_cookie(
            COOKIE,
            self.study.people.sign_in(name),
            max_age=int(SESSION_SECONDS),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )


def access_of(request: Request) -> Access:
    """Return the app's :class:`Access`."""
    access: Access = request.app.state.access
    return access


async def _me(  # not in a thread: it is cached mostly, and a change of thread costs more than a look-up
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)],
    _: Annotated[str | None, Security(_COOKIE)],
) -> Person:
    access = access_of(request)
    if bearer is not None:
        person = access.study.people.by_token(bearer.credentials)
        if person is not None:
            return person
        raise HTTPException(401, "unknown token", {"WWW-Authenticate": "Bearer"})
    found = access.from_cookie(request)
    if found is None:
        raise HTTPException(401, "sign in first", {"WWW-Authenticate": "Bearer"})
    person, csrf = found
    given = request.headers.get("x-csrf-token", "")
    if request.method not in _SAFE and not hmac.compare_digest(given.encode(), csrf.encode()):
        raise HTTPException(403, "the page is out of date; load it again")
    return person


Me = Annotated[Person, Depends(_me)]


async def _owner(me: Me) -> Person:
    if me.role != "owner":
        raise HTTPException(403, "only an owner of the study may do this")
    return me


Owner = Annotated[Person, Depends(_owner)]
