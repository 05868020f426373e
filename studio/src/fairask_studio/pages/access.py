"""Who may do what: the table of rights, sessions of browsers, tokens of programs, the security log."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
from pathlib import Path
from typing import Annotated

from fastapi import Depends, HTTPException, Request, Response, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from fairask.report.words import visible
from fairask_studio.events import AccessNoted, now
from fairask_studio.store.people import ROLES, TOKEN_SECONDS, Person, Session
from fairask_studio.store.store import Store

#: In place of a role: no sign-in is needed; or the token of a linked tool.
ANYBODY, TOOL = "anybody", "tool"

_ANYBODY = ("POST /session", "GET /connect/{name}/health")

_TOOL = (
    "POST /connect/{name}/answers",
    "POST /connect/{name}/webhook",
    "POST /connect/{name}/setup",
    "POST /connect/{name}/predict",
)

_ANNOTATOR = (
    "GET /me",
    "DELETE /session",
    "POST /next",
    "POST /answers",
    "GET /answers",
    "GET /answers/{row}",
    "PUT /answers/{row}",
    "DELETE /answers/{row}",
    "GET /cells/{row}/{column}",
    "GET /examples",
    "GET /flags/mine",
    "POST /flags",
    "POST /flags/{flag}",
    "GET /demo",
    "PUT /demo",
)

#: A reviewer sees rows, disagreements, flags and how people agree, and settles what is in dispute.
_REVIEWER = (
    "GET /status",
    "GET /story",
    "GET /events",
    "GET /people/figures",
    "GET /rows",
    "GET /rows/{row}",
    "PUT /rows/{row}",
    "GET /rows/{row}/history",
    "GET /flags",
)

_OWNER = (
    "GET /people/errors",
    "POST /people/again",
    "GET /settings",
    "PUT /settings",
    "GET /people",
    "POST /people",
    "PUT /people/{name}",
    "DELETE /people/{name}",
    "POST /people/{name}/invitation",
    "GET /programs",
    "POST /programs",
    "DELETE /programs/{name}",
    "POST /qr",
    "PUT /address",
    "GET /proxies",
    "POST /labels",
    "GET /known",
    "POST /known",
    "PUT /known/{row}",
    "DELETE /known/{row}",
    "GET /reopened",
    "POST /reopened",
    "DELETE /reopened/{event}",
    "GET /model",
    "POST /model",
    "GET /model/details",
    "POST /certificate",
    "GET /certificates",
    "GET /audit",
    "POST /audit",
    "DELETE /audit",
    "GET /export/{name}",
    "GET /connect",
)

#: The least role for each route of the API, by method and path.
RIGHTS: dict[str, str] = {
    route: role
    for role, routes in (
        (ANYBODY, _ANYBODY),
        (TOOL, _TOOL),
        ("annotator", _ANNOTATOR),
        ("reviewer", _REVIEWER),
        ("owner", _OWNER),
    )
    for route in routes
}

#: Pages by name: title, and the least role that may see it.
PAGES = {
    "label": ("Label", "annotator"),
    "overview": ("Overview", "reviewer"),
    "rows": ("Rows", "reviewer"),
    "model": ("Model", "owner"),
    "certificate": ("Certificate", "owner"),
    "people": ("People", "reviewer"),
    "settings": ("Settings", "owner"),
}


def may(role: str, least: str) -> bool:
    """Whether somebody with a role may do what needs at least another one.

    Examples
    --------
    >>> may("reviewer", "annotator"), may("reviewer", "owner"), may("gone", "annotator")
    (True, False, False)
    """
    return role in ROLES and ROLES.index(role) >= ROLES.index(least)


def least_role(method: str, path: str) -> str:
    """Return the least role for a route of the API; the highest one for a route that is not in the table.

    Examples
    --------
    >>> least_role("GET", "/rows"), least_role("GET", "/api/settings"), least_role("GET", "/new")
    ('reviewer', 'owner', 'owner')
    """
    return RIGHTS.get(f"{method} {path.removeprefix('/api')}", ROLES[-1])


_LOG = logging.getLogger("fairask.security")


class SecurityLog:
    """Writes the security log of one study."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def write(self, who: str, what: str, name: str, request: Request) -> None:
        """Write a line."""
        address = request.client.host if request.client else "?"
        line = {"at": now(), "who": who, "what": what, "name": name, "address": address}
        _LOG.info(visible(json.dumps(line, ensure_ascii=False)))

    def note(self, who: str, what: str, name: str, request: Request) -> None:
        """Write a line and an event."""
        self.write(who, what, name, request)
        address = request.client.host[:64] if request.client else None
        self.store.append(who, AccessNoted(what, name, address))


def write_to(path: str | None) -> None:
    """Send the security log to a file that only its owner reads, or to standard error."""
    handler: logging.Handler = logging.StreamHandler()
    if path is not None:
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        handler = logging.FileHandler(Path(path), encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(message)s"))
    _LOG.setLevel(logging.INFO)
    _LOG.propagate = False
    _LOG.handlers[:] = [handler]


_BEARER = HTTPBearer(auto_error=False, description="A person's token, for programs.")

_SAFE = ("GET", "HEAD", "OPTIONS")

_NEEDED = {
    "annotator": "a person",
    "reviewer": "a reviewer or an owner",
    "owner": "an owner",
}


class Access:
    """Finds the person behind a request.

    A studio that serves this machine only, for a study without people, has an owner all the same: whoever
    opens the address that the studio printed. The code in that address begins one session.

    Parameters
    ----------
    store : Store
        The people: of a study, or of a home page.
    local_name : str, optional
        Who owns it while it has no people.
    https : bool
        Whether cookies are sent by HTTPS only.
    home : Access, optional
        The people of the home page that serves the study.

    Attributes
    ----------
    cookie : str
        Name of the session's cookie, another one for each study: browsers do not tell ports apart.
    """

    def __init__(
        self, store: Store, local_name: str | None, *, https: bool = False, home: Access | None = None
    ) -> None:
        self.store, self.people, self.local_name, self.https = store, store.people, local_name, https
        self.home = home
        self.log = SecurityLog(store)
        self.cookie = f"fairask_{hashlib.sha256(store.target.encode()).hexdigest()[:12]}"

    @property
    def open(self) -> bool:
        """Whether there is nobody who could sign in with a token."""
        local = self.local_name is not None if self.home is None else self.home.open
        return local and not self.people.any()

    def invite(self) -> str | None:
        """Make the code of the printed address; None if people sign in with their tokens."""
        return self.people.invite(self.local_name) if self.open and self.local_name else None

    def person(self, name: str) -> Person | None:
        """Return the person of a session.

        The session of the printed address stays an owner's when people are added. Whoever owns the home page
        owns its studies. Somebody whose token has expired is nobody, and not a namesake.
        """
        known = self.people.by_name(name)
        if known is None and self.people.knows(name):
            return None
        if known is None and name == self.local_name:
            return Person(name, "owner")
        return self.home.person(name) if known is None and self.home is not None else known

    def from_cookie(self, request: Request) -> tuple[Person, Session] | None:
        """Return person and session of a browser."""
        session = self.people.session(request.cookies.get(self.cookie, ""))
        person = None if session is None else self.person(session.name)
        return None if session is None or person is None else (person, session)

    def remember(self, request: Request, response: Response, name: str, cookie: str, how: str) -> None:
        """Keep a session in this browser, and note it. The server ends one that was not used for hours."""
        self.log.note(name, "signed in", how, request)
        response.set_cookie(
            self.cookie,
            cookie,
            max_age=int(TOKEN_SECONDS),
            path=request.scope.get("root_path", "") or "/",
            httponly=True,
            samesite="strict",
            secure=self.https or request.url.scheme == "https",
        )


def access_of(request: Request) -> Access:
    """Return the app's :class:`Access`."""
    access: Access = request.app.state.access
    return access


def refuse_token(request: Request, token: str) -> HTTPException:
    """Count a wrong token, and return the refusal."""
    access = access_of(request)
    expired = access.people.expired(token)
    address = request.client.host if request.client else "?"
    wait = access.store.attempts.fail(address, None if expired is None else expired.name)
    if wait > 0:
        return HTTPException(429, "too many attempts; wait a minute", {"Retry-After": str(int(wait) + 1)})
    access.log.note("unknown", "was refused", "wrong token" if expired is None else expired.name, request)
    words = (
        "this token is unknown" if expired is None else "this token has expired; ask an owner for a new one"
    )
    return HTTPException(401, words, {"WWW-Authenticate": "Bearer"})


def _find(request: Request, bearer: HTTPAuthorizationCredentials | None) -> Person:
    access = access_of(request)
    if bearer is not None:
        person = access.people.by_token(bearer.credentials)
        if person is None:
            raise refuse_token(request, bearer.credentials)
        return person
    found = access.from_cookie(request)
    if found is None:
        raise HTTPException(401, "sign in first", {"WWW-Authenticate": "Bearer"})
    person, session = found
    given = request.headers.get("x-csrf-token", "")
    if request.method not in _SAFE and not hmac.compare_digest(given.encode(), session.csrf.encode()):
        raise HTTPException(403, "the page is out of date; load it again", {"X-Page": "stale"})
    return person


def _me(
    request: Request, bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]
) -> Person:
    """Return the person behind a request, if the table of rights lets them do what it asks for."""
    me = _find(request, bearer)
    least = least_role(request.method, request.scope["route"].path_format)
    if not may(me.role, least):
        access_of(request).log.write(me.name, "was refused", request.url.path, request)
        raise HTTPException(403, f"only {_NEEDED[least]} of the study may do this")
    return me


#: The person who sends a request. What their role may not do is refused; see ``RIGHTS``. FastAPI looks in a
#: thread: a database that does not answer must not stop the event loop.
Me = Annotated[Person, Depends(_me)]
