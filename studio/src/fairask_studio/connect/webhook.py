"""Any tool that speaks HTTP: drawn rows are posted to it as signed JSON."""

from __future__ import annotations

import hashlib
import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from time import time

from fairask.errors import UserError
from fairask_studio import Study
from fairask_studio.connect.errors import ToolUnreachable
from fairask_studio.connect.links import Link
from fairask_studio.connect.outgoing import OutgoingRow, columns_for
from fairask_studio.connect.signing import sign
from fairask_studio.events import now
from fairask_studio.tools import OutsideAnswer

#: Status codes that pass: try again later.
_LATER = {408, 409, 425, 429}
_LONGEST_WAIT = 3600.0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Rows go where they were sent, and nowhere else."""

    def redirect_request(self, *_: object) -> None:
        return None


class WebhookTool:
    """Posts drawn rows to an address, and signs them; answers come to the studio's endpoint.

    Parameters
    ----------
    study : Study
    link : Link
        With the address.
    secret : str
        Known to both sides: ``whsec_`` and base64.
    timeout : float
        Seconds for one attempt.
    """

    most = 100  #: rows per message

    def __init__(self, study: Study, link: Link, secret: str, timeout: float = 20.0) -> None:
        if not link.url.startswith(("https://", "http://")):
            raise UserError(f"{link.url!r} is not an address", "Give one that begins with https://")
        self.study, self.link, self.secret, self.timeout = study, link, secret, timeout
        sign(secret, "msg", b"")  # a secret that cannot sign is said at once
        self._opener = urllib.request.build_opener(_NoRedirect)

    def message(self, rows: Sequence[OutgoingRow]) -> tuple[str, bytes]:
        """Return the identity and body of the message about these rows: the same whenever it is made."""
        config, created = self.study.config, self.study.state().created
        words = json.dumps([created, config.pool_sha256, self.link.name, [row.row for row in rows]])
        columns = [
            {
                "name": c.name,
                "title": c.title or c.name,
                "unit": c.unit,
                "display": c.display,
                "values": c.values,
            }
            for c in columns_for(config, self.link.protected)
        ]
        body = {
            "type": "rows.drawn",
            "timestamp": now(),
            "data": {
                "link": self.link.name,
                "question": config.question,
                "classes": list(config.classes),
                "overlap": config.overlap,
                "columns": columns,
                "rows": [{"row": row.row, "check": row.check, "fields": row.cells} for row in rows],
            },
        }
        return f"msg_{hashlib.sha256(words.encode()).hexdigest()[:24]}", json.dumps(body).encode()

    def send(self, rows: Sequence[OutgoingRow]) -> None:
        """Post rows; ToolUnreachable if the same may succeed later."""
        message, body = self.message(rows)
        headers = {**sign(self.secret, message, body), "Content-Type": "application/json"}
        request = urllib.request.Request(self.link.url, body, {**headers, "User-Agent": "fairask"})
        try:
            with self._opener.open(request, timeout=self.timeout) as reply:
                reply.read(1 << 16)
        except urllib.error.HTTPError as error:
            with error:
                self._refused(error)
        except (OSError, http.client.HTTPException) as error:
            raise ToolUnreachable(f"{self.link.url}: {error}") from error

    def _refused(self, error: urllib.error.HTTPError) -> None:
        if error.code >= 500 or error.code in _LATER:
            wait = _seconds(error.headers.get("Retry-After", ""))
            raise ToolUnreachable(f"{self.link.url} answered {error.code}", wait) from error
        gone = " and wants no more messages" if error.code == 410 else ""
        raise UserError(
            f"{self.link.url} answered {error.code}{gone}: the rows were not sent",
            "Correct the address or what answers there, then start the connector again: nothing is lost",
        ) from error

    def answers(self) -> list[OutsideAnswer]:
        """Return nothing: answers come to the endpoint."""
        return []

    def missing(self, rows: Sequence[int]) -> list[int]:
        """Return nothing: what the tool still has is not known."""
        return []


def _seconds(text: str) -> float:
    """Return the seconds of a Retry-After header; 0 if there is none.

    Examples
    --------
    >>> _seconds("7"), _seconds(""), _seconds("soon")
    (7.0, 0.0, 0.0)
    """
    try:
        wait = float(text) if text.isdigit() else parsedate_to_datetime(text).timestamp() - time()
    except (TypeError, ValueError):
        return 0.0
    return min(max(wait, 0.0), _LONGEST_WAIT)
