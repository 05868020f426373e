"""Who may do what: the one table of rights, with every route of the API and every page.

Roles are ordered: a reviewer may do what an annotator may, an owner what a reviewer may.
"""

from __future__ import annotations

from fairask_studio.store.people import ROLES

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
    "GET /progress",
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
    "GET /settings",
    "PUT /settings",
    "GET /people",
    "POST /people",
    "DELETE /people/{name}",
    "POST /people/{name}/token",
    "POST /people/{name}/invitation",
    "GET /programs",
    "POST /programs",
    "DELETE /programs/{name}",
    "POST /qr",
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
    "GET /certificate",
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
