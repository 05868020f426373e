"""The security log: who signed in, who was refused, which people changed, which files left.

One line of JSON per entry in the logger ``fairask.security``. What :meth:`SecurityLog.note` writes is an
event of the study as well, so that it lasts as long as the labels do.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

from fastapi import Request

from fairask_studio.events import AccessNoted, now
from fairask_studio.store import Store

_LOG = logging.getLogger("fairask.security")


class SecurityLog:
    """Writes the security log of one study."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def write(self, who: str, what: str, name: str, request: Request) -> None:
        """Write a line."""
        address = request.client.host if request.client else "?"
        _LOG.info(
            json.dumps(
                {"at": now(), "who": who, "what": what, "name": name, "address": address}, ensure_ascii=False
            )
        )

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
