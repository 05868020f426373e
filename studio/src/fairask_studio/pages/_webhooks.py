"""Webhooks: tell other programs what happens in a study, as it happens.

A thread reads new events and posts them as JSON. Labels that come together go together. A receiver that does
not answer is tried again a few times; then the message is given up and logged, since the events stay in the
study and can be read by the API.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import threading
import urllib.error
import urllib.request
from collections.abc import Sequence
from urllib.parse import urlsplit

from sqlalchemy.exc import SQLAlchemyError

from fairask_studio import Study, StudyError
from fairask_studio.events import Document, Event

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
        Signs messages: the header ``X-Fairask-Signature`` is ``sha256=`` and the HMAC of the body.
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
        signature = hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()
        headers = {"Content-Type": "application/json", "X-Fairask-Event": str(message["event"])}
        if self.secret:
            headers["X-Fairask-Signature"] = f"sha256={signature}"
        for turn in range(_TRIES):
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
