"""Webhooks, in one scheme: JSON, signed as Standard Webhooks describes it.

:class:`WebhookTool` posts drawn rows to any tool that speaks HTTP. :class:`Webhooks` tells other programs
what happens in a study, as it happens: a thread reads new events and posts them. Labels that come
together go together. A receiver that does not answer is tried again a few times; then the message is
given up and logged, since the events stay in the study and can be read by the API.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import logging
import threading
import urllib.error
import urllib.request
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from time import time
from urllib.parse import urlsplit

from sqlalchemy.exc import SQLAlchemyError

from fairask.errors import UserError
from fairask_studio import Study, StudyError
from fairask_studio.connect.errors import ToolUnreachable
from fairask_studio.connect.links import Link
from fairask_studio.connect.outgoing import OutgoingRow, columns_for
from fairask_studio.connect.signing import sign
from fairask_studio.events import Document, Event
from fairask_studio.receiving import OutsideAnswer
from fairask_studio.times import now

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


_LOG = logging.getLogger("fairask_studio.pages")
_SECONDS, _TRIES = 5.0, 4
#: Kinds of events, and what they are called outside. The end of the budget is "done".
_NAMES = {"created": "created", "labelled": "labelled", "fitted": "trained", "certified": "certified"}


def messages(events: Sequence[Event], classes: Sequence[str]) -> list[Document]:
    """Return the messages of events, oldest first; labels that follow each other are one message.

    Examples
    --------
    >>> events = [Event(i, "t", "ada", "labelled", {"row": i, "label": 1}) for i in (5, 6)]
    >>> [(m["event"], len(m["labels"])) for m in messages(events, ["no", "yes"])]
    [('labelled', 2)]
    """
    found: list[Document] = []
    for event in events:
        name = _NAMES.get(event.kind)
        if name is None:
            continue
        if name == "labelled":
            label = {"row": event.data["row"], "label": classes[event.data["label"]], "who": event.who}
            if found and found[-1]["event"] == "labelled":
                found[-1]["labels"].append(label)
            else:
                found.append({"event": name, "id": event.id, "at": event.at, "labels": [label]})
        elif name == "trained":
            kept = {key: event.data[key] for key in ("round", "labels", "digest")}
            found.append({"event": name, "id": event.id, "at": event.at, "model": kept})
        elif name == "certified":
            kept = {key: event.data.get(key) for key in ("verdict", "upper", "tolerance", "model")}
            found.append({"event": name, "id": event.id, "at": event.at, "certificate": kept})
        else:
            found.append({"event": name, "id": event.id, "at": event.at})
    return found


class Webhooks:
    """Posts what happens in a study to addresses.

    Parameters
    ----------
    study : Study
    addresses : sequence of str
        ``https://...`` or ``http://...``.
    secret : str
        Signs messages, as in :class:`WebhookTool`; empty: they are not signed.
    pause : float
        Seconds between two looks.
    """

    def __init__(self, study: Study, addresses: Sequence[str], secret: str = "", pause: float = 1.0) -> None:
        for address in addresses:
            if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).netloc:
                raise StudyError(
                    f"--webhook {address!r} is not an address; give one as in https://example.org/hook"
                )
        self.study, self.addresses, self.secret, self.pause = study, list(addresses), secret, pause
        if secret:
            sign(secret, "msg", b"")  # a secret that cannot sign is said at once
        with study.lock:
            state = study.state()
            self._done = bool(state.answered - state.skipped >= state.budget)
            # A study that nobody has touched is announced; of others, what happens from now on.
            self._last = 0 if state.last == 1 else state.last
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def step(self) -> None:
        """Send what is new."""
        events = self.study.store.events(self._last)
        if not events:
            return
        with self.study.lock:
            state = self.study.state()
            done = bool(state.answered - state.skipped >= state.budget)
        found = messages(events, self.study.config.classes)
        if done and not self._done:
            found.append({"event": "done", "id": events[-1].id, "at": events[-1].at, "budget": state.budget})
        self._done, self._last = done, events[-1].id
        for message in found:
            for address in self.addresses:
                self._send(address, {"study": self.study.config.question, **message})

    def _send(self, address: str, message: Document) -> None:
        body = json.dumps(message, ensure_ascii=False).encode()
        name = f"msg_{message['id']}_{message['event']}"
        for turn in range(_TRIES):
            headers = {"Content-Type": "application/json"}
            if self.secret:
                headers |= sign(self.secret, name, body)
            try:
                request = urllib.request.Request(address, body, headers, method="POST")
                with urllib.request.urlopen(request, timeout=_SECONDS):
                    return
            except (urllib.error.URLError, OSError) as error:
                said = f"{type(error).__name__}: {error}"
            if self._stop.wait(self.pause * 2**turn):
                return
        _LOG.error(
            "webhook %s was not reached (%s): event %s given up",
            urlsplit(address).netloc,
            said,
            message["id"],
        )

    def _run(self) -> None:
        while not self._stop.wait(self.pause):
            try:
                self.step()
            except (SQLAlchemyError, StudyError):
                _LOG.exception("events for webhooks could not be read")

    def start(self) -> None:
        """Work in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="fairask-webhooks", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the message under way."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(_SECONDS)
