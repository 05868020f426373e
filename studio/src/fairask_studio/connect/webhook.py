"""Webhooks, in one scheme: JSON, signed as Standard Webhooks 1.0.0 describes it.

The sender adds three headers: ``webhook-id``, ``webhook-timestamp`` and ``webhook-signature``. The
signature is the HMAC-SHA256 of "id.timestamp.body" under a secret that both sides know (symmetric,
version v1).

:class:`WebhookTool` posts drawn rows to any tool that speaks HTTP. :class:`Webhooks` tells other programs
what happens in a study, as it happens: a thread reads new events and posts them. Labels that come
together go together. A receiver that does not answer is tried again a few times; then the message is
given up and logged, since the events stay in the study and can be read by the API.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import logging
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import httpx
from sqlalchemy.exc import SQLAlchemyError

from fairask.errors import UserError
from fairask_studio import Study, StudyError
from fairask_studio.connect.connector import Link, OutgoingRow, ToolUnreachable, columns_for
from fairask_studio.connect.outside import check_address, outside_client
from fairask_studio.events import Document, Event, now
from fairask_studio.store.database import Outage
from fairask_studio.tools import OutsideAnswer

#: Seconds by which the time of a message may differ from ours.
_LATEST = 300
_PREFIX = "whsec_"
_HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")


class SignatureError(Exception):
    """A message is not what its sender signed, or is late."""


def new_secret() -> str:
    """Make a secret."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def _key(secret: str) -> bytes:
    remedy = "Make one: python -c 'import fairask_studio.connect as c; print(c.new_secret())'"
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error as error:
        raise UserError("the secret of the webhook is not whsec_ and base64", remedy) from error
    if len(key) < 24:
        raise UserError(f"the secret of the webhook has {len(key)} bytes: under 24 can be guessed", remedy)
    return key


def sign(secret: str, message: str, body: bytes, at: float | None = None) -> dict[str, str]:
    """Return the headers that sign a message.

    Parameters
    ----------
    secret : str
        ``whsec_`` and base64.
    message : str
        Its identity: the same in every attempt to deliver it.
    body : bytes
        What is posted.
    at : float, optional
        Time of the attempt, seconds since 1970; now by default.

    Examples
    --------
    >>> secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqrTwjU"
    >>> sign(secret, "msg_1", b"{}", at=1614265330)["webhook-timestamp"]
    '1614265330'
    """
    moment = str(int(time.time() if at is None else at))
    signed = f"{message}.{moment}.".encode() + body
    mark = base64.b64encode(hmac.digest(_key(secret), signed, hashlib.sha256)).decode()
    return dict(zip(_HEADERS, (message, moment, f"v1,{mark}"), strict=True))


def verify_signature(secret: str, headers: Mapping[str, str], body: bytes, now: float | None = None) -> str:
    """Return the identity of a message if it is signed with the secret, and not late; else SignatureError.

    A message that comes twice within the tolerance is signed both times: whoever receives it remembers its
    identity, or does what can be repeated.
    """
    given = {name.lower(): value for name, value in headers.items()}
    if any(not given.get(name) for name in _HEADERS):
        raise SignatureError(f"a signed message has the headers {', '.join(_HEADERS)}")
    message, moment, marks = (given[name] for name in _HEADERS)
    if not moment.isascii() or not moment.isdigit() or len(moment) > 12:
        raise SignatureError("webhook-timestamp is not a time in seconds")
    right = sign(secret, message, body, at=int(moment))["webhook-signature"]
    # Several signatures stand there while a secret is replaced.
    if not any(hmac.compare_digest(mark.encode(), right.encode()) for mark in marks.split(" ")):
        raise SignatureError("the signature is wrong")
    apart = (time.time() if now is None else now) - int(moment)
    if abs(apart) > _LATEST:
        raise SignatureError(
            f"the message is {abs(apart):.0f} seconds {'old' if apart > 0 else 'ahead'}, {_LATEST} at most"
        )
    return message


#: Status codes that pass: try again later.
_LATER = {408, 409, 425, 429}
_LONGEST_WAIT = 3600.0
#: Seconds for one attempt to post rows.
_TIMEOUT = 20.0


class WebhookTool:
    """Posts drawn rows to an address, and signs them; answers come to the studio's endpoint.

    Parameters
    ----------
    study : Study
    link : Link
        With the address.
    secret : str
        Known to both sides: ``whsec_`` and base64.
    """

    most = 100  #: rows per message

    def __init__(self, study: Study, link: Link, secret: str) -> None:
        check_address(link.url)
        self.study, self.link, self.secret = study, link, secret
        sign(secret, "msg", b"")  # a secret that cannot sign is said at once

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
        try:
            # Redirects are not followed: rows go where they were sent, and nowhere else.
            reply = _post(self.link.url, body, headers, _TIMEOUT)
        except httpx.HTTPError as error:
            raise ToolUnreachable(f"{self.link.url}: {error}") from error
        code = reply.status_code
        if code >= 500 or code in _LATER:
            raise ToolUnreachable(
                f"{self.link.url} answered {code}", _seconds(reply.headers.get("Retry-After", ""))
            )
        if not reply.is_success:
            gone = " and wants no more messages" if code == 410 else ""
            raise UserError(
                f"{self.link.url} answered {code}{gone}: the rows were not sent",
                "Correct the address or what answers there, then start the connector again: nothing is lost",
            )

    def answers(self) -> list[OutsideAnswer]:
        """Return nothing: answers come to the endpoint."""
        return []

    def missing(self, rows: Sequence[int]) -> list[int]:
        """Return nothing: what the tool still has is not known."""
        return []


def _post(address: str, body: bytes, headers: Mapping[str, str], timeout: float) -> httpx.Response:
    """Post a body; of the reply only the head is read, however much is sent."""
    with (
        outside_client([address], timeout) as client,
        client.stream("POST", address, content=body, headers=dict(headers)) as reply,
    ):
        return reply


def _seconds(text: str) -> float:
    """Return the seconds of a Retry-After header; 0 if there is none.

    Examples
    --------
    >>> _seconds("7"), _seconds(""), _seconds("soon")
    (7.0, 0.0, 0.0)
    """
    try:
        wait = float(text) if text.isdigit() else parsedate_to_datetime(text).timestamp() - time.time()
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
        message: Document = {"event": name, "id": event.id, "at": event.at}
        if name == "labelled":
            label = {"row": event.data["row"], "label": classes[event.data["label"]], "who": event.who}
            if found and found[-1]["event"] == "labelled":
                found[-1]["labels"].append(label)
                continue
            message["labels"] = [label]
        elif name == "trained":
            message["model"] = {key: event.data[key] for key in ("round", "labels", "digest")}
        elif name == "certified":
            kept = ("verdict", "upper", "tolerance", "model")
            message["certificate"] = {key: event.data.get(key) for key in kept}
        found.append(message)
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
            check_address(address, "--webhook")
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
                code = _post(address, body, headers, _SECONDS).status_code
                if 200 <= code < 300:
                    return
                said = f"it answered {code}"
            except httpx.HTTPError as error:
                said = f"{type(error).__name__}: {error}"
            if self._stop.wait(self.pause * 2**turn):
                return
        _LOG.error(
            "webhook %s was not reached (%s): event %s given up",
            urlsplit(address).hostname,  # what else the address holds may be secret
            said,
            message["id"],
        )

    def _run(self) -> None:
        outage = Outage("what tells webhooks", self._stop.wait)
        while not self._stop.wait(self.pause):
            try:
                self.step()
                outage.is_over()
            except (SQLAlchemyError, StudyError) as error:
                if not outage.passes(error):
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


def received_rows(secret: str, headers: Mapping[str, str], body: bytes) -> list[Document]:
    """Return the rows of a message, each with its number, check code and fields, or raise SignatureError.

    Examples
    --------
    >>> from fairask_studio.connect.webhook import new_secret, sign
    >>> secret, body = new_secret(), b'{"data": {"rows": [{"row": 17, "check": "k1", "fields": {}}]}}'
    >>> received_rows(secret, sign(secret, "msg_1", body), body)[0]["row"]
    17
    """
    verify_signature(secret, headers, body)
    rows: list[Document] = json.loads(body)["data"]["rows"]
    return rows


def send_answers(studio: str, token: str, answers: Sequence[Document], link: str = "webhook") -> Document:
    """Send answers to a studio and return what became of them; httpx.HTTPError if that fails.

    Sending the same again changes nothing, so what failed is sent again.
    """
    place = f"{studio.rstrip('/')}/api/connect/{link}/answers"
    headers = {"Authorization": f"Bearer {token}"}
    reply = httpx.post(place, json={"answers": list(answers)}, headers=headers, timeout=30).raise_for_status()
    done: Document = reply.json()
    return done
