"""Signatures of messages by HTTP, as Standard Webhooks 1.0.0 describes them (symmetric, version v1).

The sender adds three headers: ``webhook-id``, ``webhook-timestamp`` and ``webhook-signature``. The signature
is the HMAC-SHA256 of "id.timestamp.body" under a secret that both sides know.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping

from fairask.errors import UserError

#: Seconds by which the time of a message may differ from ours.
TOLERANCE = 300
_PREFIX = "whsec_"
_HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")


class SignatureError(Exception):
    """A message is not what its sender signed, or is late."""


def new_secret() -> str:
    """Make a secret.

    Examples
    --------
    >>> new_secret().startswith("whsec_")
    True
    """
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error as error:
        raise UserError(
            "the secret of the webhook is not whsec_ and base64",
            "Make one: python -c 'import fairask_studio.connect as c; print(c.new_secret())'",
        ) from error
    if len(key) < 24:
        raise UserError(
            f"the secret of the webhook has {len(key)} bytes, and less than 24 can be guessed",
            "Make one: python -c 'import fairask_studio.connect as c; print(c.new_secret())'",
        )
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

    Examples
    --------
    >>> secret = new_secret()
    >>> verify_signature(secret, sign(secret, "msg_1", b"{}"), b"{}")
    'msg_1'
    >>> verify_signature(secret, sign(secret, "msg_1", b"{}"), b"[]")
    Traceback (most recent call last):
        ...
    fairask_studio.connect.signing.SignatureError: the signature is wrong
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
    if abs(apart) > TOLERANCE:
        raise SignatureError(
            f"the message is {abs(apart):.0f} seconds {'old' if apart > 0 else 'ahead'}, {TOLERANCE} at most"
        )
    return message
