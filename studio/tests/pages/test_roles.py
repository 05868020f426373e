"""Every route times every role and every method: who is let in, and who is refused.

The tables here are written by hand, beside the studio's own table of rights: a route that is in the router
and not here fails the test, as does one that is here and no longer in the router.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import text

from fairask_studio import Study
from fairask_studio.events import now
from fairask_studio.pages import create_app
from fairask_studio.pages.home import create_home
from fairask_studio.store.store import Store

#: Who may use a route of the API, by method and path: "-" anybody, "t" a linked tool, "a" whoever is signed
#: in, "r" reviewers and owners, "o" owners.
STUDY = """
- POST /session                     - GET /connect/{name}/health
t POST /connect/{name}/answers      t POST /connect/{name}/webhook
t POST /connect/{name}/setup        t POST /connect/{name}/predict
a GET /me                           a DELETE /session
a POST /next
a GET /answers                      a POST /answers
a GET /answers/{row}                a PUT /answers/{row}        a DELETE /answers/{row}
a GET /cells/{row}/{column:path}    a GET /examples
a GET /flags/mine                   a POST /flags               a POST /flags/{flag}
a GET /demo                         a PUT /demo
r GET /status                       r GET /story                r GET /events
r GET /people/figures               r GET /flags
r GET /rows                         r GET /rows/{row}           r PUT /rows/{row}
r GET /rows/{row}/history
o GET /settings                     o PUT /settings
o GET /people                       o POST /people              o DELETE /people/{name}
o POST /people/{name}/invitation
o GET /programs                     o POST /programs            o DELETE /programs/{name}
o PUT /people/{name}                o PUT /address
o POST /qr                          o GET /proxies              o POST /labels
o GET /people/errors                o POST /people/again
o GET /known                        o POST /known
o PUT /known/{row}                  o DELETE /known/{row}
o GET /reopened                     o POST /reopened            o DELETE /reopened/{event}
o GET /model                        o POST /model               o GET /model/details
o POST /certificate         o GET /certificates
o GET /audit                        o POST /audit               o DELETE /audit
o GET /export/{name}                o GET /connect
"""
HOME = """
- POST /session        a GET /me               a DELETE /session
o GET /studies         o POST /studies         o PUT /studies/{name}      o DELETE /studies/{name}
o POST /studies/{name}/open                    o POST /studies/{name}/copy
o GET /tables/{table}  o PUT /tables/{table}/files                        o GET /tables/{table}/file
o POST /tables/{table}/learned
o POST /tables         o POST /tables/{table}/forecast                    o GET /tables/{table}/forecast
"""
#: Pages and files: "-" anybody; else who sees the page, where others are led to sign in or refused.
STUDY_PAGES = """
- GET /            - GET /signin       - POST /signin
- GET /healthz     - GET /readyz       - GET /static/{digest}/{name}
- GET /api/openapi.json                - HEAD /api/openapi.json
a GET /label       r GET /overview     r GET /rows     r GET /people
o GET /model       o GET /certificate  o GET /settings
"""
HOME_PAGES = """
- GET /signin      - POST /signin      - GET /healthz
- GET /static/{digest}/{name}          - GET /api/openapi.json              - HEAD /api/openapi.json
a GET /            o GET /new         o POST /new         o POST /new/study
o GET /open/{name} o POST /demo
"""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
#: What stands for the parts of a path: nothing that is there, so that nobody changes anything.
PARTS = {"row": "0", "event": "999", "flag": "999", "table": "gone", "column": "income", "digest": "0"}
#: Which of the roles each letter lets in.
LET_IN = {"f": "", "-": "-aro", "a": "aro", "r": "ro", "o": "o", "t": ""}


def table(words: str) -> dict[str, str]:
    """Return the letters of a table by method and path."""
    return {f"{method} {path}": who for who, method, path in re.findall(r"(\S) ([A-Z]+) (\S+)", words)}


@dataclass
class Visitor:
    """Somebody who sends requests: with a token, or with a browser's session."""

    app: FastAPI
    role: str  #: a letter of the tables; "-" for whoever is to be refused everywhere
    headers: dict[str, str] = field(default_factory=dict)

    async def ask(self, method: str, path: str) -> tuple[int, bytes]:
        """Send a request, and return status and body; the app is called as a server calls it."""
        body = b"{}" if method in ("POST", "PUT", "DELETE", "PATCH") else b""
        headers = {"host": "localhost", "content-type": "application/json", **self.headers}
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": path, "query_string": b"",
            "root_path": "", "scheme": "http", "client": ("127.0.0.1", 5), "server": ("localhost", 80),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }  # fmt: skip
        sent: list[dict[str, object]] = []
        waiting = [{"type": "http.request", "body": body}]

        async def receive() -> dict[str, object]:
            return waiting.pop() if waiting else {"type": "http.disconnect"}

        async def send(message: dict[str, object]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)  # type: ignore[arg-type]
        parts = [part.get("body", b"") for part in sent[1:]]
        return int(str(sent[0]["status"])), b"".join(part for part in parts if isinstance(part, bytes))


def _session(app: FastAPI, store: Store, name: str) -> dict[str, str]:
    """The headers of a signed-in browser."""
    cookie = store.people.sign_in(name)
    session = store.people.session(cookie)
    assert session is not None
    return {"cookie": f"{app.state.access.cookie}={cookie}", "x-csrf-token": session.csrf}


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def visitors(app: FastAPI, store: Store, elsewhere: Store) -> dict[str, Visitor]:
    """Everybody who may come: each with what they would send."""
    people, letters = store.people, {"owner": "o", "reviewer": "r", "annotator": "a"}
    found = {"anonymous": Visitor(app, "-")}
    for role, letter in letters.items():
        found[role] = Visitor(app, letter, _bearer(people.add(role, role)))
        found[f"{role} in a browser"] = Visitor(app, letter, _session(app, store, role))
        program = people.add_program(f"{role} program", role, now(86400.0))
        found[f"{role} program"] = Visitor(app, letter, _bearer(program))
    forged = _session(app, store, "owner") | {"x-csrf-token": "guess"}
    found["a page of another site"] = Visitor(app, "x", forged)
    found["owner of another study"] = Visitor(app, "-", _bearer(elsewhere.people.add("eve", "owner")))
    found["session of another study"] = Visitor(app, "-", _session(app, elsewhere, "eve"))
    removed = _bearer(people.add("removed", "owner")), _session(app, store, "removed")
    expired = _bearer(people.add("expired", "owner")), _session(app, store, "expired")
    ended = _session(app, store, "reviewer")
    people.remove("removed")
    with store.database.write() as connection:
        connection.execute(
            text("UPDATE people SET since = '2001-01-01T00:00:00.000Z' WHERE name = 'expired'")
        )
        connection.execute(text(f"UPDATE sessions SET until = 1 WHERE csrf = '{ended['x-csrf-token']}'"))
    gone = people.add_program("gone", "owner", now(60.0))
    with store.database.write() as connection:
        connection.execute(text("UPDATE people SET until = '2001' WHERE name = 'gone'"))
    people._known.clear()
    found["an expired program"] = Visitor(app, "-", _bearer(gone))
    found["an expired session"] = Visitor(app, "-", ended)
    for name, (token, session) in {"removed": removed, "expired": expired}.items():
        found[f"{name} person"] = Visitor(app, "-", token)
        found[f"{name} person in a browser"] = Visitor(app, "-", session)
    return found


def routes(app: FastAPI) -> set[str]:
    """All routes by method and path: of the router, and of the OpenAPI."""
    every: list[Any] = [
        part
        for route in app.routes
        for part in getattr(route, "effective_route_contexts", lambda route=route: [route])()
    ]
    found = {f"{method} {route.path}" for route in every for method in route.methods or ()}
    documented = {
        f"{method.upper()} {path}" for path, known in app.openapi()["paths"].items() for method in known
    }
    plain = {route.replace(":path}", "}") for route in found}
    assert documented <= plain, "the OpenAPI names routes that are not there"
    return found


def expected(api: str, pages: str) -> dict[str, str]:
    """All routes of an app, with who is let in."""
    found = {f"{route.replace(' ', ' /api', 1)}": who for route, who in table(api).items()}
    return found | table(pages)


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{\w+(:path)?\}", lambda part: ".+" if part[1] else "[^/]+", path))


async def refusals(known: dict[str, str], who: dict[str, Visitor]) -> tuple[int, list[str]]:
    """Ask for everything, as everybody, by every method; return how often, and what differs."""
    wrong, asked = [], 0
    parts = [(*route.split(" "), letter) for route, letter in known.items()]
    patterns = [(method, _pattern(path), letter) for method, path, letter in parts]
    for path in sorted({route.partition(" ")[2] for route in known}):
        place = re.sub(r"\{(\w+)(?::path)?\}", lambda part: PARTS.get(part[1], "nobody"), path)
        api = path.startswith("/api/") and path != "/api/openapi.json"
        for method in METHODS:
            # The path may fit another route too: /flags/mine is a /flags/{flag}.
            fits = [letter for m, pattern, letter in patterns if m == method and pattern.fullmatch(place)]
            letter = known.get(f"{method} {path}", fits[0] if fits else None)
            asking = who if letter is not None else {name: who[name] for name in ("anonymous", "owner")}
            for name, visitor in asking.items():
                if (method, path) == ("DELETE", "/api/session") and "browser" in name:
                    continue  # it would sign out
                status, asked = await visitor.ask(method, place), asked + 1
                role = "-" if not api and "authorization" in visitor.headers else visitor.role  # no session
                if not _is_right(status[0], letter, role, api, method, path):
                    wrong.append(f"{method} {path} ({letter}) as {name}: {status[0]}")
    return asked, wrong


#: No token, a wrong one, or too many wrong ones.
_UNKNOWN = (401, 429)


def _is_right(status: int, letter: str | None, role: str, api: bool, method: str, path: str) -> bool:
    if status >= 500:
        return False
    if letter is None:
        return status in (404, 405)
    forged, role = role == "x", "o" if role == "x" else role
    if letter == "-":
        takes_token = path in ("/signin", "/api/session")
        return status in (200, 303, 404, 422) or (takes_token and status in _UNKNOWN)
    if not api and method == "POST" and role in LET_IN[letter]:  # a form
        return status == 403 if forged else status in (303, 422)
    if path == "/open/{name}" and role in LET_IN[letter]:
        return status == 404  # there is no study
    if not api:  # a page: led to sign in, or refused
        return status == (200 if role in LET_IN[letter] else 303 if role == "-" else 403)
    if letter == "t" or role == "-":
        return status in _UNKNOWN
    if forged and method != "GET":
        return status == 403
    if role in LET_IN[letter]:
        # A cell is refused, too, if its row was not given to this person.
        return status not in (401, 403, 405) or (path.startswith("/api/cells") and role == "a")
    return status == 403


@pytest.fixture
def other(make: Callable[..., Study], tmp_path: Path) -> Study:
    return make(str(tmp_path / "another"))


def test_every_route_of_a_study_lets_in_whom_it_should_and_nobody_else(study: Study, other: Study) -> None:
    app = create_app(study, local=False, train=False)
    known = expected(STUDY, STUDY_PAGES)
    pages = {route for route in known if route.startswith("GET /") and known[route] != "-"}
    views = {route for route in pages if not route.startswith("GET /api/")}
    assert set(known) - views | {"GET /{view}"} == routes(app)
    who = visitors(app, study.store, other.store)
    _, wrong = asyncio.run(refusals(known, who))
    assert not wrong, "\n".join(wrong)


def test_every_route_of_the_home_page_lets_in_whom_it_should(tmp_path: Path, other: Study) -> None:
    place = tmp_path / "home"
    place.mkdir()
    Store.create_people(str(place)).close()
    app = create_home(place, local=False, train=False)
    known = expected(HOME, HOME_PAGES)
    assert set(known) == routes(app)
    store = app.state.access.store
    who = visitors(app, store, other.store)
    _, wrong = asyncio.run(refusals(known, who))
    assert not wrong, "\n".join(wrong)
    store.close()


def test_what_a_refused_visitor_is_told_says_nothing_of_the_study(study: Study, other: Study) -> None:
    app = create_app(study, local=False, train=False)
    who = visitors(app, study.store, other.store)

    async def said() -> Iterator[tuple[str, bytes]]:
        nobody = [visitor for visitor in who.values() if visitor.role == "-"]
        found = []
        for route in table(STUDY):
            method, path = route.split(" ")
            place = re.sub(r"\{(\w+)(?::path)?\}", lambda part: PARTS.get(part[1], "nobody"), path)
            found += [(route, (await visitor.ask(method, f"/api{place}"))[1]) for visitor in nobody]
        return iter(found)

    names = [study.config.question, "income", "sex", *study.config.classes]
    for route, body in asyncio.run(said()):
        told = json.loads(body or b"{}").get("detail", "")
        assert not [name for name in names if str(name) in told], f"{route}: {told}"
