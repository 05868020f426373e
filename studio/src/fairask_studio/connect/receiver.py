"""For the other side of a webhook: read rows that fairask posted, and send answers back."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping, Sequence

from fairask_studio.connect.signing import verify_signature
from fairask_studio.events import Document


def received_rows(secret: str, headers: Mapping[str, str], body: bytes) -> list[Document]:
    """Return the rows of a message, each with its number, check code and fields, or raise SignatureError.

    Examples
    --------
    >>> from fairask_studio.connect import new_secret, sign
    >>> secret, body = new_secret(), b'{"data": {"rows": [{"row": 17, "check": "k1", "fields": {}}]}}'
    >>> received_rows(secret, sign(secret, "msg_1", body), body)[0]["row"]
    17
    """
    verify_signature(secret, headers, body)
    rows: list[Document] = json.loads(body)["data"]["rows"]
    return rows


def send_answers(studio: str, token: str, answers: Sequence[Document], link: str = "webhook") -> Document:
    """Send answers to a studio and return what became of them; urllib.error.URLError if that fails.

    Sending the same again changes nothing, so what failed is sent again.
    """
    place = f"{studio.rstrip('/')}/api/connect/{link}/answers"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(place, json.dumps({"answers": list(answers)}).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as reply:
        done: Document = json.load(reply)
    return done
