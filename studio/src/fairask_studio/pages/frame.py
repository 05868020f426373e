"""The frame of all pages: templates, scripts and styles.

All scripts and styles share one digest in their address. A browser keeps them for ever, and a new version
of the studio has another address. Scripts that a page's script imports are named in the page, so that the
browser fetches them together and not one after the other.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.templating import Jinja2Templates

from fairask_studio.events import Document

router = APIRouter(include_in_schema=False)

_HERE = Path(__file__).parent

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

_FOR_EVER = "public, max-age=31536000, immutable"

#: Lines that are for readers of the source: an eighth of what a browser would fetch.
_COMMENT = re.compile(rb"^[ \t]*//.*\n", re.MULTILINE)
#: The same in a style sheet, and blanks that part nothing.
_CSS_BLANKS = re.compile(rb"/\*.*?\*/\s*|\s*([{};,])\s*|(?<=:) ", re.DOTALL)

_IMPORT = re.compile(r'^import .*? from "\./([\w.-]+)";$', re.MULTILINE)


@dataclass(frozen=True)
class _File:
    data: bytes
    packed: bytes
    kind: str


@cache
def files() -> dict[str, _File]:
    """Return all files by name."""
    found = {path.name: path for path in sorted((_HERE / "static").iterdir()) if path.suffix in _TYPES}
    kept = {name: _sent(path) for name, path in found.items()}
    return {
        name: _File(data, gzip.compress(data, mtime=0), _TYPES[found[name].suffix])
        for name, data in kept.items()
    }


def _sent(path: Path) -> bytes:
    """Return what a browser needs of a file."""
    whole = path.read_bytes()
    if path.suffix == ".css":
        return _CSS_BLANKS.sub(lambda found: found[1] or b"", whole)
    return _COMMENT.sub(b"", whole)


@cache
def static_digest() -> str:
    """Return the digest of all files."""
    whole = hashlib.sha256()
    for name, file in files().items():
        whole.update(name.encode() + b"\0" + hashlib.sha256(file.data).digest())
    return whole.hexdigest()[:16]


@cache
def imported(name: str) -> tuple[str, ...]:
    """Return the scripts that a script imports, and those that they import."""
    found: dict[str, None] = {}
    waiting = [name]
    while waiting:
        for other in _IMPORT.findall(files()[waiting.pop()].data.decode()):
            if other not in found:
                found[other] = None
                waiting.append(other)
    return tuple(found)


@router.get("/static/{digest}/{name}")
async def static(request: Request, digest: str, name: str) -> Response:
    """Return a file; one that is asked for by an old address is not kept."""
    file = files().get(name)
    if file is None:
        raise HTTPException(404, "There is no such file.")
    headers = {
        "cache-control": _FOR_EVER if digest == static_digest() else "no-cache",
        "vary": "Accept-Encoding",
    }
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, media_type=file.kind, headers={**headers, "content-encoding": "gzip"})
    return Response(file.data, media_type=file.kind, headers=headers)


_TEMPLATES = Jinja2Templates(_HERE / "templates")

_TEMPLATES.env.globals |= {"static_digest": static_digest(), "imported": imported}


def render(request: Request, template: str, context: Document, status: int = 200) -> Response:
    """Render a page for somebody who is not signed in to a study, unless the context says more."""
    root = request.scope.get("root_path", "")
    common: Document = {"views": {}, "person": None, "csrf": "", "script": "", "root": root}
    return _TEMPLATES.TemplateResponse(request, template, common | context, status_code=status)


def redirect(request: Request, path: str) -> RedirectResponse:
    """Lead to a page of the studio, whatever a proxy puts before its path."""
    return RedirectResponse(f"{request.scope.get('root_path', '')}{path}", 303)


def error_page(request: Request, status: int, words: str) -> Response:
    """Render an error page."""
    return render(request, "error.html", {"title": "Sorry", "status": status, "words": words}, status)
